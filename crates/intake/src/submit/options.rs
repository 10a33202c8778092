//! Parses a submission's options from headers. All invalid and unknown options are reported at once.

use dripfeed_auth::DRIPFEED_KEY;
use dripfeed_job::Submission;
use dripfeed_job::forward::text_of;
use dripfeed_job::options::OptionName;
use dripfeed_trace::TraceContext;
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;

use crate::problem::{BadOption, Problem};

const FORWARD: &str = "dripfeed-forward-";

/// Whether headers may set all options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionSource {
    /// All options come from headers.
    Headers,
    /// Method and path are those of the proxied request.
    ProxiedRequest,
}

/// Parses the options into `submission`.
pub(crate) fn read(headers: &HeaderMap, source: OptionSource, submission: &mut Submission) -> Result<(), Problem> {
    let now = Timestamp::now();
    let mut bad = Vec::new();
    for name in options(headers) {
        let read = only_value(headers, name).and_then(|value| apply(name, value, source, submission, now));
        if let Err(reason) = read {
            bad.push(BadOption::new(name.as_str(), reason));
        }
    }
    submission.traceparent = traceparent(headers);
    if bad.is_empty() { Ok(()) } else { Err(Problem::bad_options(bad)) }
}

/// Refuses options in headers for requests that would ignore them.
pub(crate) fn refuse_options(headers: &HeaderMap, instead: &str) -> Result<(), Problem> {
    let bad: Vec<BadOption> = options(headers).map(|name| BadOption::new(name.as_str(), instead)).collect();
    if bad.is_empty() { Ok(()) } else { Err(Problem::bad_options(bad)) }
}

fn options(headers: &HeaderMap) -> impl Iterator<Item = &HeaderName> {
    headers
        .keys()
        .filter(|name| name.as_str() == "idempotency-key" || name.as_str().starts_with("dripfeed-"))
        .filter(|name| **name != DRIPFEED_KEY)
}

fn only_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) if name.as_str().starts_with(FORWARD) => {
            text_of(value).ok_or_else(|| "use visible characters of UTF-8".to_owned())
        }
        (Some(value), None) => value.to_str().map_err(|_| "use visible ASCII characters".to_owned()),
        _ => Err("given more than once".to_owned()),
    }
}

fn apply(
    name: &HeaderName,
    value: &str,
    source: OptionSource,
    submission: &mut Submission,
    now: Timestamp,
) -> Result<(), String> {
    if let Some(forwarded) = name.as_str().strip_prefix(FORWARD) {
        return submission.headers.push(forwarded, value).map_err(|error| error.to_string());
    }
    match (OptionName::of_header(name.as_str()), source) {
        (Some(OptionName::Method | OptionName::Path), OptionSource::ProxiedRequest) => {
            Err("not supported for a proxied request, which keeps its method and path".to_owned())
        }
        (Some(option), _) => option.apply(value, submission, now).map_err(|reason| reason.to_string()),
        (None, _) => Err("unknown option".to_owned()),
    }
}

/// A header that describes the payload.
pub(crate) fn payload_header(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    if !headers.contains_key(name) {
        return Ok(None);
    }
    let value = only_value(headers, name).map_err(|reason| bad_header(name, &reason))?;
    Ok(Some(value.to_owned()))
}

pub(crate) fn bad_header(name: &HeaderName, reason: &dyn ToString) -> Problem {
    Problem::bad_options(vec![BadOption::new(name.as_str(), reason.to_string())])
}

/// The caller's trace context. A malformed one is ignored (W3C Trace Context, 3.2).
pub(crate) fn traceparent(headers: &HeaderMap) -> Option<String> {
    headers.get("traceparent").and_then(as_traceparent)
}

fn as_traceparent(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    let context = TraceContext::parse(text)?;
    // Later versions may add text of any length. It is removed: that leaves the known version.
    Some(if text.split('-').count() == 4 { text.to_owned() } else { context.to_string() })
}

#[cfg(test)]
mod tests;
