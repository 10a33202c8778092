//! Callers in entries of a plain XADD.

use super::*;

async fn add(redis: &TestRedis, caller: &[u8]) {
    let mut add = redis::cmd("XADD");
    add.arg("dripfeed:{from}:jobs").arg("*").arg("body").arg("x").arg("caller").arg(caller);
    redis.store().await.command::<String>(&add).await.expect("Redis answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_whose_caller_is_no_text_or_too_long_is_handed_over() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("events")], 100)).await;
    let events = buckets::open(&redis, buckets::settings("events")).await;
    let targets = Buckets::new([from.clone(), events.clone()]);
    let (replica, mut courier) = (join(&from, "r").await, OutboxRelay::new(from.clone()));
    let long = "\u{20ac}".repeat(100);
    let all_bytes: Vec<u8> = (0..300).map(|_| 0xff).collect();
    for caller in [b"\xff", long.as_bytes(), &all_bytes] {
        add(&redis, caller).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        add(&redis, caller).await;
        let id = from.jobs(&JobFilter::default(), None, 1).await.expect("Redis answers").items[0].id;
        assert_eq!(from.cancel(id).await.expect("Redis answers"), CancelResult::Cancelled);
    }
    assert_eq!(outbox(&redis, "from").await, 6);
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    assert_eq!(outbox(&redis, "from").await, 0);
    let callers: std::collections::BTreeSet<Option<String>> = from
        .outcomes(TimeWindow::default(), None, None, 10)
        .await
        .expect("Redis answers")
        .items
        .into_iter()
        .map(|ended| ended.outcome.caller)
        .collect();
    assert!(callers.contains(&Some("\u{20ac}".repeat(85))), "cut at a character: {callers:?}");
    // Callers without jobs in the bucket are no longer counted.
    assert_eq!(reported(&events).await.len(), 6);
    assert_eq!(redis.ask::<u64>("HLEN dripfeed:{events}:holders").await, 0);
    assert_eq!(events.examine(false).await.expect("Redis answers").findings, []);
}
