#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use dripfeed_job::StartTime;

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
    assert_eq!(submission.start, StartTime::After(Duration::from_secs(10)));
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
    let no_trace = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
    let no_parent = "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01";
    for value in
        [no_trace, no_parent, "", "00-1-2-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-é"]
    {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        assert_eq!(as_traceparent(&value), None, "{value:?}");
    }
}

#[test]
fn a_trace_context_of_a_later_version_is_continued() {
    let known = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (given, stored) in [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03", None),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-00-aa", Some(known)),
    ] {
        let value = HeaderValue::from_static(given);
        assert_eq!(as_traceparent(&value).as_deref(), Some(stored.unwrap_or(given)));
    }
}
