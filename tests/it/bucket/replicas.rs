//! What a census shows of each replica.

use std::time::Duration;

use dripfeed_bucket::{Bucket, Kind, ReplicaCensus};
use dripfeed_tests::buckets::{self, join, open};
use dripfeed_tests::redis_server::TestRedis;
use jiff::Timestamp;

async fn replica(bucket: &Bucket, name: &str) -> ReplicaCensus {
    let census = bucket.census().await.expect("Redis answers");
    census.replicas.into_iter().find(|replica| replica.consumer == name).expect("the replica is shown")
}

async fn members(redis: &TestRedis, bucket: &str) -> Vec<String> {
    let mut keys = redis::cmd("HKEYS");
    keys.arg(format!("dripfeed:{{{bucket}}}:members"));
    let mut members: Vec<String> = redis.store().await.command(&keys).await.expect("Redis answers");
    members.sort();
    members
}

#[tokio::test]
async fn since_when_a_replica_is_a_member_and_its_latest_heartbeat_are_shown() {
    let redis = TestRedis::start().await;
    for kind in [Kind::Stream, Kind::List] {
        let name = kind.as_str();
        let bucket = open(&redis, dripfeed_bucket::BucketSettings { kind, ..buckets::settings(name) }).await;
        let before = u64::try_from(Timestamp::now().as_millisecond()).expect("after 1970");
        let (first, second) = (join(&bucket, "a").await, join(&bucket, "b").await);
        let joined = replica(&bucket, "a").await;
        assert!(joined.joined_ms.is_some_and(|ms| ms >= before), "{joined:?}");
        assert!(joined.heartbeat_age.is_some_and(|age| age < Duration::from_secs(10)), "{joined:?}");
        assert!(!joined.is_silent, "{joined:?}");

        // As if the last heartbeat was long ago.
        let mut set = redis::cmd("HSET");
        set.arg(format!("dripfeed:{{{name}}}:members")).arg("a").arg("1000 2000 5000");
        redis.store().await.command::<u64>(&set).await.expect("Redis answers");
        let silent = replica(&bucket, "a").await;
        assert_eq!(silent.joined_ms, Some(1000));
        assert!(silent.heartbeat_age.is_some_and(|age| age > Duration::from_secs(1_000_000)), "{silent:?}");
        assert!(silent.is_silent, "{silent:?}");
        assert_eq!(bucket.census().await.expect("Redis answers").alive(), 1);
        // A process on standby reports seldom, and was a member before.
        let now = Timestamp::now().as_millisecond();
        let _: u64 = redis.ask(&format!("HSET dripfeed:{{{name}}}:standby a {now}")).await;
        let resting = replica(&bucket, "a").await;
        assert!(!resting.is_silent && resting.joined_ms.is_none(), "{resting:?}");
        let _: u64 = redis.ask(&format!("DEL dripfeed:{{{name}}}:standby")).await;

        first.beat().await.expect("Redis answers");
        let beating = replica(&bucket, "a").await;
        assert_eq!(beating.joined_ms, Some(1000));
        assert!(beating.heartbeat_age.is_some_and(|age| age < Duration::from_secs(10)), "{beating:?}");
        assert!(!beating.is_silent, "{beating:?}");

        // A member of an earlier version has no entry.
        let mut forget = redis::cmd("HDEL");
        forget.arg(format!("dripfeed:{{{name}}}:members")).arg("b");
        redis.store().await.command::<u64>(&forget).await.expect("Redis answers");
        second.beat().await.expect("Redis answers");
        let earlier = replica(&bucket, "b").await;
        assert_eq!((earlier.joined_ms, earlier.heartbeat_age), (None, None));

        first.leave().await.expect("Redis answers");
        let _third = join(&bucket, "c").await;
        assert_eq!(members(&redis, name).await, ["c"], "one that left is forgotten");
    }
}
