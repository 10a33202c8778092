//! What an attempt means for its job: delivered, retry, throttled or dead.

use dripfeed_bucket::{BucketSettings, Feedback, Settlement};
use dripfeed_job::{Job, Retry, UpstreamAnswer, Verdict};

use crate::call::CallResult;

/// What is to become of a job whose attempt ended so. `failures` are the attempts that failed before; `draw` is uniform
/// in `[0, 1)`.
pub(crate) fn settlement(
    called: CallResult,
    job: &Job,
    failures: u32,
    bucket: &BucketSettings,
    draw: f64,
) -> Settlement {
    let CallResult { answer, body, .. } = called;
    let status = answer.status();
    match answer.judge() {
        // Only an answer with a status is a delivery.
        Verdict::Delivered => Settlement::Complete { status: status.unwrap_or_default(), answer: body },
        Verdict::Throttled { retry_after } => {
            Settlement::Throttled { wait: retry_after.map(|wait| wait.min(bucket.leak.max_hold)) }
        }
        Verdict::Dead(reason) => Settlement::Bury { reason, status, answer: body, called: true },
        Verdict::Failed(why) => {
            let retry = retry_of(job, &bucket.retry);
            match retry.after(failures.saturating_add(1), draw) {
                Some(after) => Settlement::Retry { after },
                None => Settlement::Bury { reason: last_of(&retry, &why), status, answer: body, called: true },
            }
        }
    }
}

/// What the bucket is to know of its upstream besides.
pub(crate) const fn feedback(answer: &UpstreamAnswer) -> Feedback {
    Feedback { timed_out: answer.timed_out(), exhausted_for: answer.exhausted_for() }
}

/// A job that says how often it may be tried again overrides the bucket.
fn retry_of(job: &Job, bucket: &Retry) -> Retry {
    let attempts = job.retries.map_or(bucket.attempts, |retries| retries.saturating_add(1));
    Retry { attempts, ..*bucket }
}

fn last_of(retry: &Retry, why: &str) -> String {
    match retry.attempts {
        0 | 1 => format!("{why}; it had one attempt"),
        attempts => format!("{why}; that was the last of {attempts} attempts"),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
    use std::time::Duration;

    use bytes::Bytes;
    use dripfeed_job::entry;
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
        settlement(called, &job(retries), failures, &bucket(), 0.5)
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
}
