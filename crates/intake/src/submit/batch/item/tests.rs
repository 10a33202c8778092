#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use dripfeed_job::StartTime;
use serde_json::Value;

use super::*;

fn item(text: &str) -> Result<Submission, Value> {
    let batch = Bytes::copy_from_slice(text.as_bytes());
    let text = std::str::from_utf8(&batch).unwrap();
    read(&batch, text, 7, Timestamp::UNIX_EPOCH).map_err(|problem| serde_json::to_value(&problem).unwrap())
}

#[test]
fn the_body_is_the_json_text_as_it_was_written() {
    for body in ["null", "1.0", "1e2", "\"\\u00e9\"", "{\"b\" : [1,  2], \"a\":0}", "12345678901234567890123"] {
        let submission = item(&format!("{{ \"body\" : {body} }}")).unwrap();
        assert_eq!(submission.body, body);
        assert_eq!(submission.content_type.as_deref(), Some("application/json"));
    }
}

#[test]
fn other_bytes_come_as_base64() {
    let submission = item(r#"{"body_base64": "/wA=", "content_type": "image/x"}"#).unwrap();
    assert_eq!((submission.body.as_ref(), submission.content_type.as_deref()), (&[255, 0][..], Some("image/x")));
}

#[test]
fn every_option_has_its_member() {
    let submission = item(
        r#"{"body": 1, "options": {"idempotency_key": "k", "delay": "10s", "expires_in": "60s", "method": "PUT",
            "path": "/x", "forward": {"x-tenant": "t"}, "retries": 3, "timeout": "5s"}}"#,
    )
    .unwrap();
    assert_eq!(submission.idempotency_key.unwrap().as_str(), "k");
    assert_eq!(submission.start, StartTime::After(Duration::from_secs(10)));
    assert_eq!(submission.expires_in, Some(Duration::from_secs(60)));
    assert_eq!(submission.method, Some(http::Method::PUT));
    assert_eq!(submission.path.unwrap().as_str(), "/x");
    assert_eq!(submission.headers.to_field(), r#"[["x-tenant","t"]]"#);
    assert_eq!(submission.retries, Some(3));
    assert_eq!(submission.timeout, Some(Duration::from_secs(5)));
}

#[test]
fn a_bad_item_is_refused_with_its_place() {
    for text in [
        "1",
        "[1]",
        "{}",
        r#"{"body": 1, "boddy": 2}"#,
        r#"{"body": 1, "body": 2}"#,
        r#"{"body": 1, "body_base64": ""}"#,
        r#"{"body": 1, "body_base64": null}"#,
        r#"{"body": 1, "content_type": null}"#,
        r#"{"body_base64": "?"}"#,
        r#"{"body": 1, "content_type": "a\r\nb"}"#,
        r#"{"body": 1, "options": []}"#,
        r#"{"body": 1, "options": {"delay": "1s", "delay": "2s"}}"#,
    ] {
        let problem = item(text).unwrap_err();
        assert_eq!((&problem["status"], &problem["item"]), (&422.into(), &7.into()), "{text}");
        assert_eq!(problem["code"], "bad_item", "{text}: {problem}");
    }
}

#[test]
fn all_bad_options_of_an_item_are_named_at_once() {
    let problem = item(
        r#"{"body": 1, "options": {"delay": 10, "retries": -1, "delya": "1s", "timeout": true,
            "forward": {"host": "x", "x-a": 1}}}"#,
    )
    .unwrap_err();
    insta::assert_json_snapshot!(problem);
}

#[test]
fn a_bad_idempotency_key_is_a_bad_request() {
    for key in ["", "a\\u0000b", "a\\nb"] {
        let problem = item(&format!(r#"{{"body": 1, "options": {{"idempotency_key": "{key}"}}}}"#)).unwrap_err();
        assert_eq!(problem["code"], "bad_idempotency_key", "{key:?}");
    }
}
