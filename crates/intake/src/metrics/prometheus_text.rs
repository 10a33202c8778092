//! Converts OpenMetrics text to Prometheus' older text format. The samples are the same; families are named after their
//! samples, and there are no units, infos and exemplars.

pub(super) fn prometheus_text(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    // HELP comes before TYPE, but the family's name depends on the type.
    let mut help = None;
    for line in openmetrics.lines() {
        if let Some(family) = line.strip_prefix("# HELP ") {
            help = family.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|family| family.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            if let Some((_, help)) = help.take().filter(|(of, _)| *of == name) {
                // The older format doesn't escape quotes in HELP.
                let help = help.replace("\\\"", "\"");
                text.extend(["# HELP ", name, suffix, " ", help.as_str(), "\n"]);
            }
            text.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with('#') {
            text.extend([without_exemplar(line), "\n"]);
        }
    }
    text
}

/// Cuts off the exemplar: a `#` after the value. Label values, in quotes, may contain `#`, too.
fn without_exemplar(sample: &str) -> &str {
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in sample.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'#' if !quoted => return sample[..at].trim_end(),
            _ => {}
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_named_after_their_samples() {
        let openmetrics = "\
# HELP d_jobs Jobs, by \\\"outcome\\\".
# TYPE d_jobs counter
d_jobs_total{bucket=\"a # {b\\\" # }\"} 3 # {trace_id=\"01\"} 1.0 1700000000.1
# HELP d_wait_seconds From here to there.
# TYPE d_wait_seconds histogram
# UNIT d_wait_seconds seconds
d_wait_seconds_sum 0.5
d_wait_seconds_bucket{le=\"+Inf\"} 1 # {trace_id=\"02\"} 0.5
# HELP d_build The program.
# TYPE d_build info
d_build_info{version=\"1\"} 1
# EOF
";
        let text = "\
# HELP d_jobs_total Jobs, by \"outcome\".
# TYPE d_jobs_total counter
d_jobs_total{bucket=\"a # {b\\\" # }\"} 3
# HELP d_wait_seconds From here to there.
# TYPE d_wait_seconds histogram
d_wait_seconds_sum 0.5
d_wait_seconds_bucket{le=\"+Inf\"} 1
# HELP d_build_info The program.
# TYPE d_build_info gauge
d_build_info{version=\"1\"} 1
";
        assert_eq!(prometheus_text(openmetrics), text);
    }
}
