use std::time::Duration;

use dripfeed_bucket::{BucketSettings, FailedCall, Feedback, Kind, Replica, Settlement, TimeWindow};
use dripfeed_job::JobId;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_store::Store;
use dripfeed_tests::buckets::{self, DELIVERED, buried, join, open, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;

const AGAIN: Settlement = Settlement::Retry { after: Duration::ZERO };
const KEPT: &str = "dripfeed:{b}:attempts:failed";

/// Settles a job whose call failed with this status. The answer has as many bytes as the status says.
async fn fail(replica: &Replica, settlement: Settlement, status: u16) {
    let answer = AnswerBody::new(None, &vec![b'a'; status.into()], false);
    let failed = FailedCall { status: Some(status), reason: format!("answered {status}"), answer: Some(answer) };
    let feedback = Feedback { failed: Some(failed), ..Feedback::default() };
    replica.settle_with(take_one(replica).await.claim, settlement, feedback).await.unwrap();
}

fn settings() -> BucketSettings {
    let mut settings = buckets::settings("b");
    (settings.keep.failed_attempts, settings.keep.failed_answer_bytes, settings.keep.most_failed) = (2, 502, 1);
    settings
}

async fn count(store: &Store) -> u64 {
    store.command(redis::cmd("HLEN").arg(KEPT)).await.unwrap()
}

async fn record(store: &Store, id: JobId) -> String {
    store.command(redis::cmd("HGET").arg("dripfeed:{b}:outcomes").arg(id.to_string())).await.unwrap()
}

#[tokio::test]
async fn the_latest_failed_attempts_of_a_job_are_kept_with_it_and_then_with_its_outcome() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let replica = join(&bucket, "a").await;
    let job = submit(&bucket, buckets::job("x")).await;
    for status in [501, 502, 503] {
        fail(&replica, AGAIN, status).await;
    }
    let shown = async || {
        let view = bucket.find(job.id).await.unwrap().unwrap();
        view.failed.into_iter().map(|failed| {
            let answer = failed.answer.unwrap();
            assert_eq!((failed.replica.as_str(), answer.truncated), ("a", failed.attempt == 3), "{answer:?}");
            (failed.attempt, failed.status, failed.reason, answer.body.len())
        })
    };
    let latest = [(2, Some(502), "answered 502".to_owned(), 502), (3, Some(503), "answered 503".to_owned(), 502)];
    assert_eq!(shown().await.collect::<Vec<_>>(), latest);
    assert_eq!(count(&store).await, 1);

    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert_eq!(shown().await.collect::<Vec<_>>(), latest);
    assert_eq!(count(&store).await, 0);
    let ended = bucket.outcomes(TimeWindow::default(), None, None, 10).await.unwrap().items;
    assert_eq!((ended[0].outcome.attempts, ended[0].failed.len()), (4, 2), "{ended:?}");
    // A report reads the outcome of such a record, and ignores what follows it.
    let report = bucket.report(Duration::from_hours(1)).await.unwrap();
    assert_eq!((report.attempts, report.ended[0].1), (4, 1), "{report:?}");
}

#[tokio::test]
async fn a_job_that_succeeds_at_once_has_nothing_more_than_its_outcome() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let replica = join(&bucket, "a").await;
    let job = submit(&bucket, buckets::job("x")).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let record = record(&store, job.id).await;
    assert!(record.ends_with(" delivered 200 1"), "{record}");
    assert_eq!(count(&store).await, 0);
}

#[tokio::test]
async fn the_attempt_that_ends_a_job_is_kept_with_its_outcome_in_both_kinds() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, BucketSettings { kind, ..settings() }).await;
        let replica = join(&bucket, "a").await;
        let job = submit(&bucket, buckets::job("x")).await;
        fail(&replica, buried("no luck"), 500).await;
        let failed = bucket.find(job.id).await.unwrap().unwrap().failed;
        // The last answer is in the outcome.
        let shown: Vec<_> = failed.iter().map(|failed| (failed.attempt, failed.status, &failed.answer)).collect();
        assert_eq!(shown, [(1, Some(500), &None)], "{kind:?}");
    }
}

#[tokio::test]
async fn failed_attempts_are_kept_of_a_bounded_number_of_jobs() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let replica = join(&bucket, "a").await;
    let (first, second) = (submit(&bucket, buckets::job("1")).await, submit(&bucket, buckets::job("2")).await);
    for _ in 0..2 {
        fail(&replica, Settlement::Retry { after: Duration::from_hours(1) }, 500).await;
    }
    let kept = async |id| bucket.find(id).await.unwrap().unwrap().failed.len();
    assert_eq!((kept(first.id).await, kept(second.id).await, count(&store).await), (1, 0, 1));
    // A cancelled job makes room for the attempts of others.
    bucket.cancel(first.id).await.unwrap();
    assert_eq!((kept(first.id).await, count(&store).await), (1, 0));
}
