//! Parses a submission's options from headers. All invalid and unknown options are reported at once.

use dripfeed_job::Submission;
use dripfeed_job::options::OptionName;
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;

use crate::problem::{BadOption, Problem};
use dripfeed_auth::DRIPFEED_KEY;

const FORWARD: &str = "dripfeed-forward-";

/// Where the options that headers can't set come from.
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

/// Refuses options in headers where they would be ignored.
pub(crate) fn none_here(headers: &HeaderMap, instead: &str) -> Result<(), Problem> {
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
            Err("a proxied request keeps its own method and path".to_owned())
        }
        (Some(option), _) => option.apply(value, submission, now).map_err(|reason| reason.to_string()),
        (None, _) => Err("unknown option".to_owned()),
    }
}

/// A header that describes the payload.
pub(crate) fn payload_header(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    let text = |value: &HeaderValue| value.to_str().map(str::to_owned);
    headers.get(name).map(text).transpose().map_err(|_| bad_header(name, &"use visible ASCII characters"))
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
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hex = text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f' | b'-'));
    (lengths == [2, 32, 16, 2] && is_hex && !text.starts_with("ff")).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::time::Duration;

    use dripfeed_job::Start;

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    fn read_all(pairs: &[(&str, &str)], source: OptionSource) -> Result<Submission, serde_json::Value> {
        let mut submission = Submission::default();
        read(&headers(pairs), source, &mut submission)
            .map(|()| submission)
            .map_err(|problem| serde_json::to_value(&problem).unwrap())
    }

    #[test]
    fn every_option_has_a_header() {
        let submission = read_all(
            &[
                ("idempotency-key", "order-1"),
                ("dripfeed-delay", "10s"),
                ("dripfeed-expires-in", "60s"),
                ("dripfeed-method", "PUT"),
                ("dripfeed-path", "/orders/1?x=y"),
                ("dripfeed-retries", "3"),
                ("dripfeed-timeout", "5s"),
                ("dripfeed-forward-x-tenant", "t"),
                ("dripfeed-key", "not an option"),
                ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                ("accept", "*/*"),
            ],
            OptionSource::Headers,
        )
        .unwrap();
        assert_eq!(submission.idempotency_key.unwrap().as_str(), "order-1");
        assert_eq!(submission.start, Start::After(Duration::from_secs(10)));
        assert_eq!(submission.expires_in, Some(Duration::from_secs(60)));
        assert_eq!(submission.method, Some(http::Method::PUT));
        assert_eq!(submission.path.unwrap().as_str(), "/orders/1?x=y");
        assert_eq!(submission.retries, Some(3));
        assert_eq!(submission.timeout, Some(Duration::from_secs(5)));
        assert_eq!(submission.headers.to_field(), r#"[["x-tenant","t"]]"#);
        assert!(submission.traceparent.is_some());
    }

    #[test]
    fn all_invalid_options_are_reported_at_once() {
        let problem = read_all(
            &[
                ("dripfeed-delay", "10"),
                ("dripfeed-delya", "10s"),
                ("dripfeed-retries", "1"),
                ("dripfeed-retries", "2"),
                ("dripfeed-forward-host", "elsewhere"),
                ("dripfeed-forward-", "x"),
            ],
            OptionSource::Headers,
        )
        .unwrap_err();
        insta::assert_json_snapshot!(problem);
    }

    #[test]
    fn an_invalid_idempotency_key_is_a_bad_request() {
        let long = "x".repeat(256);
        for key in ["", "a\tb", long.as_str()] {
            let problem = read_all(&[("idempotency-key", key)], OptionSource::Headers).unwrap_err();
            assert_eq!((&problem["status"], &problem["code"]), (&400.into(), &"bad_idempotency_key".into()), "{key:?}");
        }
    }

    #[test]
    fn a_proxied_request_keeps_its_method_and_path() {
        let problem =
            read_all(&[("dripfeed-method", "PUT"), ("dripfeed-path", "/")], OptionSource::ProxiedRequest).unwrap_err();
        assert_eq!(problem["options"].as_array().unwrap().len(), 2);
        assert!(read_all(&[("dripfeed-delay", "1s")], OptionSource::ProxiedRequest).is_ok());
    }

    #[test]
    fn a_malformed_trace_context_is_ignored() {
        for value in ["", "00-1-2-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-é"] {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            assert_eq!(as_traceparent(&value), None, "{value:?}");
        }
    }
}
