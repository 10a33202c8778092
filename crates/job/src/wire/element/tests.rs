#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use std::time::Duration;

use http::Method;

use super::*;
use crate::path::UpstreamPath;
use crate::wire::entry::tests::assert_as_submitted;

/// As the admit script completes it.
fn element(submission: &Submission) -> String {
    encode(submission).replacen('{', r#"{"id":"17-0","expires":"1700","#, 1)
}

#[test]
fn a_job_reads_back_as_it_was_submitted() {
    let mut submission = Submission {
        body: Bytes::from_static("{\"n\": \"täglich\u{0}\"}\n".as_bytes()),
        content_type: Some("application/json".to_owned()),
        method: Some(Method::PUT),
        path: UpstreamPath::parse("/a?b=c").ok(),
        caller: Some("alice".to_owned()),
        retries: Some(0),
        timeout: Some(Duration::from_millis(1500)),
        ..Submission::default()
    };
    submission.headers.push("x-a", "1 \"2\"").unwrap();
    let job = decode(JobId::new(17, 0), element(&submission).as_bytes()).unwrap();
    assert_as_submitted(&job, &submission);
    assert_eq!(job.expires_ms, Some(1700));
    assert_eq!(job.bytes, encode(&submission).len() as u64);
}

#[test]
fn an_element_is_readable_and_says_nothing_needless() {
    let text = Submission { body: Bytes::from_static(b"{\"n\":1}"), ..Submission::default() };
    let without_sum = |submission: &Submission| {
        let element = encode(submission);
        let (before, sum) = element.split_once(r#","sum":""#).unwrap();
        format!("{before}{}", &sum[r#"0123456789abcdef""#.len()..])
    };
    assert_eq!(without_sum(&text), r#"{"body":"{\"n\":1}","v":"1"}"#);
    assert_eq!(without_sum(&Submission::default()), r#"{"body":"","v":"1"}"#);
    let raw = Submission { body: Bytes::from_static(b"\x00\xff"), ..Submission::default() };
    assert_eq!(without_sum(&raw), r#"{"body_base64":"AP8=","v":"1"}"#);
    assert_eq!(decode(JobId::new(17, 0), element(&raw).as_bytes()).unwrap().body, raw.body);
}

#[test]
fn a_large_body_grows_by_no_more_than_a_third() {
    for (byte, as_text) in [("x", true), ("\u{1}", false), ("\"", false)] {
        let large = Submission { body: byte.repeat(LARGE + 1).into(), ..Submission::default() };
        let element = element(&large);
        assert!(element.len() <= LARGE * 4 / 3 + 100, "{byte:?}: {}", element.len());
        assert_eq!(element.contains(r#""body":"#), as_text, "{byte:?}");
        assert_eq!(decode(JobId::new(17, 0), element.as_bytes()).unwrap().body, large.body);
        let small = Submission { body: byte.repeat(LARGE).into(), ..Submission::default() };
        assert!(encode(&small).contains(r#""body":"#), "{byte:?}");
    }
}

#[test]
fn an_element_that_is_not_what_was_admitted_is_corrupt() {
    let whole = element(&Submission { body: Bytes::from_static(b"two"), ..Submission::default() });
    let decode = |element: &str| decode(JobId::new(17, 0), element.as_bytes()).map(|_| ());
    assert_eq!(decode(&whole), Ok(()));
    for (part, other) in [("two", "too"), (r#""two""#, "two"), ("two", "\\"), ("body", "corps"), ("sum", "summe")] {
        assert_eq!(decode(&whole.replacen(part, other, 1)), Err(Unreadable::Corrupt), "{part} → {other}");
    }
}

#[test]
fn a_foreign_body_keeps_its_bytes_and_counts_nothing() {
    let job = decode(JobId::new(1, 0), b"{\"id\":\"1-0\",\"body\":\"a\\\"\xff\"}").unwrap();
    assert_eq!((job.body.as_ref(), job.bytes), (b"a\"\xff".as_slice(), 0));
    let quoted = br#"{"id":"1-0","body":"{\"n\":1,\"v\":\"1\"}"}"#;
    assert_eq!(counted_bytes(quoted), 0);
}

#[test]
fn an_invalid_element_is_refused_with_the_reason() {
    let decode = |text: &str| decode(JobId::new(1, 0), text.as_bytes()).map(|_| ());
    for text in [r#"{"id":"1-0","body":"#, r#"{"id":"1-0","body":1}"#, r#"{"id":"1-0","body":["a"]}"#, "[]", ""] {
        assert_eq!(decode(text), Err(Unreadable::Element), "{text}");
    }
    assert_eq!(decode(r#"{"id":"1-0"}"#), Err(Unreadable::NoBody));
    assert_eq!(decode(r#"{"id":"1-0","body_base64":"?"}"#), Err(Unreadable::Field("body_base64")));
    assert_eq!(decode(r#"{"id":"1-0","body":"","path":"/../x"}"#), Err(Unreadable::Field("path")));
}
