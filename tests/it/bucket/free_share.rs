//! `max_share = "free"`: a caller may have as many jobs in the bucket as still fit into it.

use std::sync::Arc;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_tests::buckets::{
    self, DELIVERED, admitted, buried, changed, join, open, refused, settle, submit, take, take_one,
};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::Value;

const KINDS: [Kind; 2] = [Kind::Stream, Kind::List];

fn settings(kind: Kind, capacity: u64) -> BucketSettings {
    BucketSettings { kind, capacity, max_share: Some(MaxShare::Free), ..buckets::settings(kind.as_str()) }
}

fn of(caller: &str) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..buckets::job("meat") }
}

/// Submits jobs until one is refused because of the caller's share. Returns how many were accepted.
async fn fill(bucket: &Bucket, submission: &Submission) -> u64 {
    let mut jobs = 0;
    loop {
        match bucket.admit(submission.clone()).await.expect("Redis answers") {
            Admission::Admitted(_) => jobs += 1,
            Admission::Refused(refused) => {
                assert_eq!(refused.reason, RefusalReason::ShareUsedUp);
                assert!(refused.retry_after.is_some());
                return jobs;
            }
        }
    }
}

#[tokio::test]
async fn one_flooding_caller_gets_half_two_get_a_third_each_and_a_newcomer_finds_room() {
    let redis = TestRedis::start().await;
    for kind in KINDS {
        let bucket = open(&redis, settings(kind, 100)).await;
        assert_eq!(fill(&bucket, &of("alice")).await, 50);
        assert_eq!(fill(&bucket, &of("bob")).await, 25);
        bucket.purge().await.unwrap();

        // The jobs of a batch are judged in order, with the earlier ones counted.
        let flood: Vec<_> = (0..200).map(|_| of("alice")).collect();
        let answers = bucket.admit_many(flood).await;
        assert_eq!(answers.iter().filter(|answer| matches!(answer, Ok(Admission::Admitted(_)))).count(), 50);
        bucket.purge().await.unwrap();

        let mut jobs = [0, 0];
        for _ in 0..60 {
            for (at, caller) in ["alice", "bob"].into_iter().enumerate() {
                let admission = bucket.admit(of(caller)).await.unwrap();
                jobs[at] += u64::from(matches!(admission, Admission::Admitted(_)));
            }
        }
        assert_eq!(jobs, [34, 33], "{kind:?}");
        for newcomer in 0..33 {
            submit(&bucket, of(&format!("newcomer-{newcomer}"))).await;
        }
        // Each newcomer has a job, and the bucket is full.
        for caller in ["alice", "newcomer-0", "one-more"] {
            assert_eq!(refused(bucket.admit(of(caller)).await).reason, RefusalReason::BucketFull, "{caller}");
        }
        assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    }
}

#[tokio::test]
async fn bytes_are_shared_alike() {
    let redis = TestRedis::start().await;
    for kind in KINDS {
        let bucket = open(&redis, BucketSettings { capacity_bytes: 10_000, ..settings(kind, 1000) }).await;
        let of_size = |caller: &str, bytes: usize| Submission { body: vec![b'x'; bytes].into(), ..of(caller) };
        assert_eq!(fill(&bucket, &of_size("alice", 1000)).await, 5, "{kind:?}");
        submit(&bucket, of_size("bob", 4000)).await;
        // A newcomer may have one job of any size that fits.
        bucket.purge().await.unwrap();
        submit(&bucket, of_size("alice", 9000)).await;
        assert_eq!(refused(bucket.admit(of_size("alice", 1)).await).reason, RefusalReason::ShareUsedUp);
    }
}

#[tokio::test]
async fn ended_jobs_make_room_in_the_share_again() {
    let redis = TestRedis::start().await;
    for kind in KINDS {
        let bucket = open(&redis, settings(kind, 100)).await;
        let replica = join(&bucket, "a").await;
        assert_eq!(fill(&bucket, &of("alice")).await, 50);
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        assert_eq!(fill(&bucket, &of("alice")).await, 1);
        for taken in take(&replica, 20).await {
            settle(&replica, taken, DELIVERED).await;
        }
        assert_eq!(fill(&bucket, &of("alice")).await, 20);
        // Jobs without a caller are bounded only by the capacity.
        for _ in 0..50 {
            submit(&bucket, buckets::job("nobody's")).await;
        }
        assert_eq!(refused(bucket.admit(buckets::job("nobody's")).await).reason, RefusalReason::BucketFull);
    }
}

#[tokio::test]
async fn the_share_is_shown_and_changed_at_run_time() {
    let redis = TestRedis::start().await;
    for kind in KINDS {
        let configured = BucketSettings { max_share: None, ..settings(kind, 10) };
        let (one, other) = (open(&redis, configured.clone()).await, open(&redis, configured).await);
        submit(&other, of("alice")).await;
        one.apply_overrides(&changed("max_share", "free")).await.unwrap();
        let judged = other.admit_from(of("alice"), Arc::default()).await.unwrap();
        assert_eq!(judged.caller_share, Some(CallerShare { jobs: 2, most: 5 }));
        assert_eq!(fill(&other, &of("alice")).await, 3);
        let judged = other.admit_from(of("alice"), Arc::default()).await.unwrap();
        assert_eq!((judged.violated(), judged.caller_share), (vec![MAX_SHARE], Some(CallerShare { jobs: 5, most: 5 })));
        assert_eq!(one.census().await.unwrap().max_share, Some(MaxShare::Free));
        one.apply_overrides(&changed("capacity", 4)).await.unwrap();
        assert_eq!(refused(other.admit(of("bob")).await).reason, RefusalReason::BucketFull);
        one.apply_overrides(&changed("capacity", 20).and(changed("max_share", Value::Null))).await.unwrap();
        for _ in 0..15 {
            admitted(other.admit(of("alice")).await);
        }
    }
}

#[tokio::test]
async fn a_replay_keeps_to_it() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings(Kind::Stream, 10)).await;
    let replica = join(&bucket, "a").await;
    submit(&bucket, of("alice")).await;
    let taken = take_one(&replica).await;
    let dead = taken.claim.id();
    settle(&replica, taken, buried("no luck")).await;
    assert_eq!(fill(&bucket, &of("alice")).await, 5);
    assert!(matches!(bucket.replay(dead).await.unwrap(),
        ReplayResult::Refused(refused) if refused.reason == RefusalReason::ShareUsedUp
            && refused.retry_after.is_some()));
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert!(matches!(bucket.replay(dead).await.unwrap(), ReplayResult::As(_)));
}
