#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::{UpstreamAnswer, entry};
use dripfeed_tests::buckets;

use super::*;

fn bucket() -> BucketSettings {
    let mut bucket = buckets::settings("tigerfeeding");
    (bucket.retry.first, bucket.retry.max) = (Duration::from_secs(1), Duration::from_mins(1));
    bucket.leak.max_hold = Duration::from_mins(1);
    bucket.keep.answer_bytes = 100;
    bucket
}

fn job(retries: Option<u32>) -> Job {
    let fields = [(Bytes::from_static(b"body"), Bytes::new())];
    Job { retries, ..entry::decode("1-0".parse().unwrap(), &fields).unwrap() }
}

fn after(answer: UpstreamAnswer, failures: u32, retries: Option<u32>) -> Settlement {
    let called = CallResult { answer, body: None, class: "" };
    decide(called, &job(retries), failures, &bucket(), 0.5)
}

fn nothing() -> UpstreamAnswer {
    UpstreamAnswer::Nothing { why: "cut".to_owned(), timed_out: false }
}

fn status(status: u16, retry_after: Option<u64>) -> UpstreamAnswer {
    let retry_after = retry_after.map(Duration::from_secs);
    UpstreamAnswer::Status { status, retry_after, exhausted_for: None, no_retry: false }
}

#[test]
fn a_failed_attempt_backs_off_until_it_was_the_last() {
    let waits = |failures| match after(nothing(), failures, None) {
        Settlement::Retry { after } => Some(after),
        Settlement::Bury { reason, .. } => {
            assert_eq!(reason, "cut; that was the last of 3 attempts");
            None
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(waits(0), Some(Duration::from_millis(500)));
    assert_eq!(waits(1), Some(Duration::from_secs(1)));
    assert_eq!(waits(2), None);
}

#[test]
fn a_job_brings_its_own_number_of_retries() {
    assert!(matches!(after(nothing(), 0, Some(0)), Settlement::Bury { .. }));
    assert!(matches!(after(nothing(), 9, Some(10)), Settlement::Retry { .. }));
    assert!(matches!(after(nothing(), 10, Some(10)), Settlement::Bury { .. }));
}

#[test]
fn being_throttled_holds_the_bucket_for_a_bounded_time() {
    let wait = |answer| match after(answer, 2, None) {
        Settlement::Throttled { wait } => wait,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(status(429, Some(7))), Some(Duration::from_secs(7)));
    assert_eq!(wait(status(503, Some(1_000_000_000))), Some(Duration::from_mins(1)));
    assert_eq!(wait(status(429, None)), None);
}

#[test]
fn an_answer_that_is_final_ends_the_job_with_its_status() {
    assert!(matches!(after(status(204, None), 0, None), Settlement::Complete { status: 204, .. }));
    assert!(matches!(after(status(404, None), 0, None), Settlement::Bury { status: Some(404), .. }));
    assert!(matches!(after(status(301, None), 0, None), Settlement::Bury { status: Some(301), .. }));
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt() {
    let called = catch_panic(async { panic!("a bug") }).await.unwrap_or_else(CallResult::panicked);
    assert_eq!(called.class, "panic");
    assert!(matches!(called.answer.verdict(), Verdict::Failed(_)));
}
