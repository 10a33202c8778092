//! Progress bars, drawn on standard error if that is a terminal.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// A bar with a message behind it.
pub(crate) fn of(total: u64) -> ProgressBar {
    styled(ProgressBar::new(total), "{bar:32} {msg}")
}

/// A bar that counts, or where `total` isn't known, a number, with a message behind it.
pub(crate) fn counting(total: Option<u64>) -> ProgressBar {
    match total {
        Some(total) => styled(ProgressBar::new(total), "{bar:32} {pos}/{len} {rate} {msg}"),
        None => styled(ProgressBar::new_spinner(), "{spinner} {pos} {rate} {msg}"),
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&rate(state.pos(), state.elapsed()));
        }));
    }
    bar
}

/// The mean rate so far, in a few digits.
pub(crate) fn rate(count: u64, time: Duration) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
    let per_second = count as f64 / time.as_secs_f64().max(0.001);
    if per_second < 10.0 { format!("{per_second:.1}/s") } else { format!("{per_second:.0}/s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_few_digits() {
        let in_three_seconds = |count| rate(count, Duration::from_secs(3));
        assert_eq!([2, 16_000].map(in_three_seconds), ["0.7/s", "5333/s"]);
    }
}
