use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Ending, JobId, JobState, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, admitted, buried, join, open, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;

use super::{body, push, settings, state, submit_all};

#[tokio::test]
async fn a_dead_letter_is_replayed_as_a_new_job_if_there_is_room() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 2, ..settings() }).await;
    let replica = join(&bucket, "a").await;
    let raw = Submission {
        body: b"\xff\x00".as_slice().into(),
        caller: Some("alice".to_owned()),
        expires_in: Some(Duration::from_mins(1)),
        ..Submission::default()
    };
    let died = submit(&bucket, raw).await.id;
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    assert_eq!(state(&bucket, died).await, Some(JobState::Ended(Ending::Dead)));
    let letter = bucket.dead_letter(died).await.unwrap().unwrap();
    assert_eq!((letter.body.as_ref(), letter.caller.as_deref()), (b"\xff\x00".as_slice(), Some("alice")));
    let of_alice = DeadFilter { caller: Some("alice".to_owned()), ..DeadFilter::default() };
    assert_eq!(bucket.dead_letters(&of_alice, None, 10).await.unwrap().items.len(), 1);

    submit_all(&bucket, &["1", "2"]).await;
    assert!(matches!(bucket.replay(died).await.unwrap(), ReplayResult::Refused(_)));
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let ReplayResult::As(again) = bucket.replay(died).await.unwrap() else { panic!("there is room") };
    assert_eq!((again.level, bucket.replay(died).await.unwrap()), (2, ReplayResult::Unknown));
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let taken = take_one(&replica).await;
    assert_eq!((taken.claim.id(), taken.claim.failures(), body(&taken)), (again.id, 0, b"\xff\x00".as_slice()));
    assert_eq!(taken.job.as_ref().unwrap().expires_ms, None, "its first deadline was of its first life");
    settle(&replica, taken, DELIVERED).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.dead), (0, 0, 0));
}

#[tokio::test]
async fn waiting_jobs_can_be_cancelled_and_purged() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let replica = join(&bucket, "a").await;
    let ids = submit_all(&bucket, &["1", "2", "3", "4"]).await;
    let flying = take_one(&replica).await;
    assert_eq!(bucket.cancel(ids[0]).await.unwrap(), CancelResult::InFlight);
    assert_eq!(bucket.cancel(ids[2]).await.unwrap(), CancelResult::Cancelled);
    assert_eq!(bucket.cancel(ids[2]).await.unwrap(), CancelResult::Ended(Ending::Cancelled));
    assert_eq!(bucket.cancel(JobId::new(1, 0)).await.unwrap(), CancelResult::Unknown);
    assert_eq!(bucket.census().await.unwrap().level, 3);

    push(&store, b"by hand").await;
    assert_eq!(bucket.purge().await.unwrap(), 3);
    assert_eq!(bucket.purge().await.unwrap(), 0);
    assert_eq!(state(&bucket, ids[3]).await, Some(JobState::Ended(Ending::Cancelled)));
    settle(&replica, flying, DELIVERED).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes), (0, 0));
    let later = submit_all(&bucket, &["5"]).await[0];
    assert_eq!(state(&bucket, later).await, Some(JobState::Waiting));
}

#[tokio::test]
async fn jobs_are_listed_by_id_page_by_page() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 1000, ..settings() }).await;
    let replica = join(&bucket, "a").await;
    let answers = bucket.admit_many((0..230).map(|n| buckets::job(n.to_string())).collect()).await;
    let mut ids: Vec<JobId> = answers.into_iter().map(|answer| admitted(answer).id).collect();
    ids.sort();
    for taken in take(&replica, 20).await.into_iter().skip(10) {
        settle(&replica, taken, Settlement::Requeue).await;
    }
    for (wanted, expected) in [
        (None, &ids[..]),
        (Some(JobState::InFlight), &ids[..10]),
        (Some(JobState::Waiting), &ids[10..]),
        (Some(JobState::Parked), &[]),
    ] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page =
                bucket.jobs(&JobFilter { state: wanted, ..JobFilter::default() }, after.as_ref(), 30).await.unwrap();
            listed.extend(page.items.into_iter().map(|job| job.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, expected, "{wanted:?}");
    }
}
