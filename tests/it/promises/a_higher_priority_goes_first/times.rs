//! The times of different priorities never overlap, however long a caller waits.

use dripfeed_job::Priority::{self, High, Low, Normal};
use dripfeed_tests::buckets::{changed, join};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{call, count, flood, open, sinks};

/// The constants of flows.lua.
const SPAN: f64 = 2_251_799_813_685_248.0;
const CALL: f64 = 490_089_600.0;

async fn times(redis: &TestRedis) -> Vec<(String, f64)> {
    redis.ask("ZRANGE dripfeed:{b}:flows 0 -1 WITHSCORES").await
}

fn origin(priority: Priority) -> f64 {
    match priority {
        High => -SPAN,
        Normal => 0.0,
        Low => SPAN,
    }
}

#[tokio::test]
async fn times_begin_again_before_they_reach_those_of_the_next_priority() {
    for priority in [High, Normal, Low] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis).await;
        bucket.apply_overrides(&changed("fair.weights", json!({ "b": 2 }))).await.unwrap();
        for priority in [Low, Normal, High] {
            flood(&bucket, "a", priority, 200).await;
            flood(&bucket, "b", priority, 200).await;
        }
        let is_of = |time: f64| time >= origin(priority) && time < origin(priority) + SPAN;
        // Moves the times to where they are after some million calls.
        for (flow, time) in times(&redis).await.into_iter().filter(|(_, time)| is_of(*time)) {
            let late = time + SPAN / 2.0;
            let mut command = redis::cmd("ZADD");
            command.arg("dripfeed:{b}:flows").arg("XX").arg(late).arg(&flow);
            redis.store().await.command::<u64>(&command).await.unwrap();
        }
        let replica = join(&bucket, "one").await;
        let called = call(&replica, 10, 1200).await;
        assert!(sinks(&called), "{priority}");
        let of_it: Vec<_> = called.into_iter().filter(|(_, of)| *of == priority).take(150).collect();
        assert_eq!(count(&of_it), [((priority, "a"), 50), ((priority, "b"), 100)].into());
    }
}

#[tokio::test]
async fn a_late_time_is_put_back() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, "a", Normal, 200).await;
    flood(&bucket, "b", Normal, 200).await;
    for (flow, _) in times(&redis).await {
        let mut command = redis::cmd("ZADD");
        command.arg("dripfeed:{b}:flows").arg("XX").arg(SPAN / 2.0 + 5.0).arg(&flow);
        redis.store().await.command::<u64>(&command).await.unwrap();
    }
    let replica = join(&bucket, "one").await;
    call(&replica, 1, 1).await;
    let times = times(&redis).await;
    assert_eq!(times.iter().map(|(_, time)| *time).collect::<Vec<_>>(), [0.0, CALL]);
    assert_eq!(count(&call(&replica, 5, 99).await).into_values().collect::<Vec<_>>(), [50, 49]);
}
