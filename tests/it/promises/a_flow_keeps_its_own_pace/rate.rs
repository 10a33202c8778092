//! The rate of a caller's calls, and what it costs the others.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{DELIVERED, join, settle, submit};
use dripfeed_tests::machine::stalls::Stalls;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use serde_json::json;

use super::tiers::only_state;
use super::{count, counts, flood, of, open, take_all};

#[tokio::test]
async fn each_has_its_burst_and_then_its_rate() {
    let redis = TestRedis::start().await;
    let named = json!({ "quick": { "rate": "1000/s", "burst": 100 }, "slow": { "burst": 1 } });
    let fair = [("fair.rate", json!("1/h")), ("fair.burst", json!(3)), ("fair.flows", named)];
    let bucket = open(&redis, &fair).await;
    let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
    for caller in ["a", "b", "slow"] {
        flood(&bucket, caller, 10).await;
    }
    flood(&bucket, "quick", 50).await;
    let mut taken = take_all(&one).await;
    taken.extend(take_all(&other).await);
    assert_eq!(count(&taken), counts([("a", 3), ("b", 3), ("slow", 1), ("quick", 50)]));
    // A retry counts as a call, and so does a taken job that isn't called.
    for taken in taken {
        settle(&one, taken, Settlement::Requeue).await;
    }
    assert_eq!(take_all(&other).await.iter().filter(|taken| super::caller_of(taken) != "quick").count(), 0);
}

#[tokio::test]
async fn an_idle_take_answers_when_the_next_call_may_be_made() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("10/s"))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 8).await;
    let (begun, mut called, mut asked) = (Instant::now(), 0, 0);
    while called < 8 {
        asked += 1;
        match replica.take(10).await.unwrap() {
            Take::Jobs(jobs, _) => called += jobs.len(),
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => panic!("nobody declared it dead"),
        }
    }
    assert!(begun.elapsed() >= Duration::from_millis(690), "{:?}", begun.elapsed());
    assert!(asked < 100, "{asked} questions for 8 calls");
}

#[tokio::test]
async fn who_waits_for_tokens_keeps_those_of_5_ms_until_a_take_comes_and_nobody_else_does() {
    const MOST_RUNS: usize = 8;
    for run in 1.. {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, &[("fair.rate", json!("1000/s"))]).await;
        let replica = join(&bucket, "one").await;
        flood(&bucket, "waiting", 50).await;
        flood(&bucket, "idle", 1).await;
        let stalls = Stalls::watch(redis.store().await);
        let Take::Jobs(taken, _) = replica.take(100).await.unwrap() else { panic!("jobs wait") };
        assert_eq!(count(&taken), counts([("waiting", 1), ("idle", 1)]));
        tokio::time::sleep(Duration::from_millis(20)).await;
        flood(&bucket, "idle", 50).await;
        let again = replica.take(100).await.unwrap();
        if matches!(&again, Take::Jobs(taken, _) if count(taken) == counts([("waiting", 6), ("idle", 1)])) {
            return;
        }
        // After a late reply of Redis no used tokens drain for a while.
        assert!(stalls.were_there() && run < MOST_RUNS, "{again:?}");
    }
}

#[tokio::test]
async fn tokens_that_a_late_take_has_used_delay_none_of_the_next_ones() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1000/s"))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 10_000).await;
    // After a late reply of Redis no used tokens drain for a while.
    until("only the last of six calls counts as used", async || {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let Take::Jobs(taken, _) = replica.take(100).await.unwrap() else { return false };
        let (_, state) = only_state(&redis).await;
        let used: Option<f64> = state.split(' ').nth(1).and_then(|used| used.parse().ok());
        taken.len() == 6 && used == Some(1.0)
    })
    .await;
}

/// Commands that connections send on any use.
const OF_CONNECTIONS: [&str; 3] = ["hello", "info", "ping"];

/// How often Redis has executed each command.
async fn commands(redis: &TestRedis) -> BTreeMap<String, u64> {
    let stats: String = redis.ask("INFO commandstats").await;
    let calls = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
    };
    stats.lines().filter_map(calls).filter(|(name, _)| !OF_CONNECTIONS.contains(&name.as_str())).collect()
}

/// The commands for calling a job while this number of callers have jobs and are throttled.
async fn cost_beside(throttled: usize) -> BTreeMap<String, u64> {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/h"))]).await;
    let replica = join(&bucket, "one").await;
    for n in 0..throttled {
        flood(&bucket, &format!("throttled {n}"), 2).await;
    }
    assert_eq!(take_all(&replica).await.len(), throttled);
    let before = commands(&redis).await;
    submit(&bucket, of("free")).await;
    submit(&bucket, of("throttled 0")).await;
    let mut taken = take_all(&replica).await;
    assert_eq!(count(&taken), counts([("free", 1)]));
    settle(&replica, taken.remove(0), DELIVERED).await;
    let mut cost = commands(&redis).await;
    cost.iter_mut().for_each(|(name, calls)| *calls -= before.get(name).unwrap_or(&0));
    cost.retain(|_, calls| *calls > 0);
    cost
}

#[tokio::test]
async fn a_throttled_one_costs_the_others_nothing() {
    assert_eq!(cost_beside(5).await, cost_beside(300).await);
}

#[tokio::test]
async fn while_one_is_throttled_all_calls_are_for_the_others() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.flows", json!({ "a": { "rate": "1/h", "burst": 2, "weight": 1000 } }))]).await;
    let replica = join(&bucket, "one").await;
    for caller in ["a", "b", "c"] {
        flood(&bucket, caller, 30).await;
    }
    let Take::Jobs(taken, _) = replica.take(20).await.unwrap() else { panic!("jobs wait") };
    assert_eq!(count(&taken), counts([("a", 2), ("b", 9), ("c", 9)]));
    let Take::Jobs(taken, _) = replica.take(20).await.unwrap() else { panic!("jobs wait") };
    assert_eq!(count(&taken), counts([("b", 10), ("c", 10)]));
}
