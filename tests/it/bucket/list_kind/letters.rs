//! Dead letters from before the kind of their bucket was changed.

use std::collections::BTreeSet;

use dripfeed_bucket::{Bucket, BucketSettings, DeadFilter, Kind, ReplayCounts, ReplayResult};
use dripfeed_job::forward::ForwardHeaders;
use dripfeed_job::{JobId, Priority, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, NO_FILTER, buried, join, open, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;

fn of_kind(kind: Kind) -> BucketSettings {
    BucketSettings { kind, ..buckets::settings("b") }
}

/// The other kind, and that of the bucket before.
const CHANGES: [(Kind, Kind); 2] = [(Kind::List, Kind::Stream), (Kind::Stream, Kind::List)];

/// Jobs that die, each of another caller.
async fn die(bucket: &Bucket, callers: &[&str]) -> Vec<JobId> {
    let replica = join(bucket, "undertaker").await;
    let mut died = Vec::new();
    for caller in callers {
        let mut headers = ForwardHeaders::default();
        headers.push("x-shop", "north").expect("a header");
        let priority = (bucket.settings().kind == Kind::Stream).then_some(Priority::High);
        let job = Submission { caller: Some((*caller).to_owned()), headers, priority, ..buckets::job("payload") };
        died.push(submit(bucket, job).await.id);
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    replica.leave().await.expect("Redis answers");
    died
}

/// The letters of the bucket are those of its earlier kind.
async fn changed(redis: &TestRedis, (kind, before): (Kind, Kind), callers: &[&str]) -> (Bucket, Vec<JobId>) {
    let earlier = open(redis, of_kind(before)).await;
    let died = die(&earlier, callers).await;
    (open(redis, of_kind(kind)).await, died)
}

#[tokio::test]
async fn a_letter_from_before_is_replayed_as_a_job_of_the_new_kind() {
    for change in CHANGES {
        let redis = TestRedis::start().await;
        let (bucket, died) = changed(&redis, change, &["shop"]).await;
        let replayed = bucket.replay(died[0]).await.expect("Redis answers");
        assert!(matches!(replayed, ReplayResult::As(_)), "{change:?}: {replayed:?}");
        assert!(bucket.dead_letter(died[0]).await.expect("Redis answers").is_none(), "{change:?}");
        let replica = join(&bucket, "east").await;
        let taken = take_one(&replica).await;
        let job = taken.job.as_ref().expect("a job that can be called");
        assert_eq!((&job.body[..], job.caller.as_deref()), (&b"payload"[..], Some("shop")), "{change:?}");
        assert_eq!(job.headers.to_field(), r#"[["x-shop","north"]]"#, "{change:?}");
        settle(&replica, taken, DELIVERED).await;
        let census = bucket.census().await.expect("Redis answers");
        assert_eq!((census.level, census.bytes, census.dead, census.dead_bytes), (0, 0, 0, 0), "{change:?}");
    }
}

#[tokio::test]
async fn letters_from_before_are_replayed_together_and_edited() {
    for change in CHANGES {
        let redis = TestRedis::start().await;
        let (bucket, died) = changed(&redis, change, &["shop", "shop", "mail"]).await;
        if change.0 == Kind::Stream {
            let edited = bucket.replay_edited(died[2], "other".into(), None, None).await.expect("Redis answers");
            assert!(matches!(edited, ReplayResult::As(_)), "{edited:?}");
        }
        let done = bucket.replay_many(&NO_FILTER, None).await.expect("Redis answers");
        let left = if change.0 == Kind::Stream { 2 } else { 3 };
        assert_eq!(done, ReplayCounts { replayed: left, left: 0 }, "{change:?}");
        assert_eq!(bucket.census().await.expect("Redis answers").level, 3, "{change:?}");
    }
}

#[tokio::test]
async fn letters_from_before_are_found_by_their_caller() {
    for change in CHANGES {
        let redis = TestRedis::start().await;
        let (bucket, died) = changed(&redis, change, &["shop", "mail"]).await;
        let of_shop = DeadFilter { caller: Some("shop".to_owned()), ..NO_FILTER };
        let found = bucket.dead_letters(&of_shop, None, 10).await.expect("Redis answers").items;
        let found: BTreeSet<JobId> = found.into_iter().map(|letter| letter.id).collect();
        assert_eq!(found, BTreeSet::from([died[0]]), "{change:?}");
        assert_eq!(bucket.delete_dead_many(&of_shop).await.expect("Redis answers"), 1, "{change:?}");
        let left = bucket.dead_letters(&NO_FILTER, None, 10).await.expect("Redis answers").items;
        assert_eq!(left.into_iter().map(|letter| letter.id).collect::<Vec<_>>(), [died[1]], "{change:?}");
    }
}
