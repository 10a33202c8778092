#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dripfeed_bucket::{BucketError, RefusalReason, Refused};
use dripfeed_store::{Certainty, ErrorKind};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value, json};

use super::*;

/// Status, header fields and body of the response.
async fn sent(problem: Problem) -> Value {
    let response = problem.into_response();
    let status = response.status().as_u16();
    let text = |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.to_str().unwrap().into());
    let headers: Map<String, Value> =
        response.headers().iter().filter(|(name, _)| *name != header::CONTENT_LENGTH).map(text).collect();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    json!({"status": status, "headers": headers, "body": serde_json::from_slice::<Value>(&body).unwrap()})
}

#[tokio::test]
async fn every_code_has_its_response() {
    let mut answers = Map::new();
    for code in Code::ALL {
        answers.insert(code.as_str().to_owned(), sent(Problem::new(code, "…")).await);
    }
    insta::assert_json_snapshot!(answers);
}

#[tokio::test]
async fn every_refusal_of_a_bucket_has_its_response() {
    let mut answers = Map::new();
    for reason in RefusalReason::ALL {
        let retry_after = Some(Duration::from_millis(1234));
        let refused = Refused { reason, retry_after, level: 10, capacity: 10 };
        answers.insert(format!("{reason:?}"), sent(Problem::refused(&refused)).await);
    }
    insta::assert_json_snapshot!(answers);
}

#[tokio::test]
async fn every_failure_of_the_store_has_its_response() {
    let mut answers = Map::new();
    for (name, kind, certainty) in [
        ("full", ErrorKind::Full, Certainty::NotStored),
        ("no ids", ErrorKind::NoIds, Certainty::Unknown),
        ("refused", ErrorKind::Refused, Certainty::NotStored),
        ("timeout", ErrorKind::Timeout, Certainty::Unknown),
    ] {
        answers.insert(name.to_owned(), sent(Problem::store(kind, certainty)).await);
    }
    insta::assert_json_snapshot!(answers);
}

#[test]
fn retry_after_is_rounded_up_to_seconds() {
    for (ms, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (59_999, 60)] {
        let problem = Problem::new(Code::BucketFull, "").retry_after(Some(Duration::from_millis(ms)));
        assert_eq!(problem.retry_after_s(), Some(seconds), "{ms}");
    }
    assert_eq!(Problem::new(Code::BucketFull, "").retry_after_s(), Some(1));
    assert_eq!(Problem::new(Code::BadOption, "").retry_after_s(), None);
}

#[test]
fn a_refusal_that_no_retry_helps_is_marked() {
    let shown = |retry_after| {
        let refused = Refused { reason: RefusalReason::DeadlineUnreachable, retry_after, level: 1, capacity: 1 };
        serde_json::to_value(Problem::refused(&refused)).unwrap()
    };
    assert_eq!(shown(None)["retryable"], false);
    assert_eq!(shown(Some(Duration::ZERO))["retryable"], Value::Null);
}

#[test]
fn internal_texts_are_not_shown() {
    let reply = BucketError::Reply { script: "admit", what: "secret".to_owned() };
    let shown = serde_json::to_string(&Problem::from(reply)).unwrap();
    assert!(!shown.contains("secret") && !shown.contains("admit"), "{shown}");
}
