//! The index of turns is written only while several callers wait, and never needed to find a job.

use std::collections::BTreeSet;

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{DELIVERED, changed, join, settle, submit, take, take_one, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{body_of, call, count, counts, flood, of, open};

const INDEX: &str = "dripfeed:{b}:flows dripfeed:{b}:ranges";

async fn index_keys(redis: &TestRedis) -> u64 {
    redis.ask(&format!("EXISTS {INDEX}")).await
}

/// Takes and delivers all jobs, up to `most` at once. Returns their bodies.
async fn drain(bucket: &Bucket, replica: &Replica, most: usize) -> Vec<String> {
    let mut bodies = Vec::new();
    while bucket.census().await.unwrap().level > 0 {
        if let Take::Jobs(taken, _) = replica.take(most).await.unwrap() {
            for taken in taken {
                bodies.push(body_of(&taken));
                settle(replica, taken, DELIVERED).await;
            }
        }
    }
    bodies
}

/// The encoding in Redis of the set of waiting callers, and its size.
async fn kept(callers: usize) -> (String, u64) {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    for caller in 0..callers {
        submit(&bucket, of(&caller.to_string(), "x")).await;
    }
    (redis.ask("OBJECT ENCODING dripfeed:{b}:flows").await, redis.ask("ZCARD dripfeed:{b}:flows").await)
}

#[tokio::test]
async fn many_who_wait_are_not_looked_for_one_after_the_other() {
    let (few, of_few) = kept(10).await;
    assert!(few != "skiplist" && of_few == 10, "{of_few} in a {few}");
    assert_eq!(kept(20).await, ("skiplist".to_owned(), 20));
}

#[tokio::test]
async fn where_nobody_waits_nothing_is_kept() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    let before = redis.calls("zadd").await;
    for round in 0..5 {
        for caller in ["a", "b"] {
            submit(&bucket, of(caller, "x")).await;
            assert_eq!(take(&replica, 10).await.len(), 1, "round {round}");
        }
        flood(&bucket, "a", 30).await;
        assert_eq!(take(&replica, 30).await.len(), 30);
    }
    assert_eq!((index_keys(&redis).await, redis.calls("zadd").await), (0, before));
}

#[tokio::test]
async fn a_first_delivery_is_counted_once() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, "a", 200).await;
    flood(&bucket, "b", 200).await;
    let replica = join(&bucket, "a").await;
    let taken = take(&replica, 50).await;
    assert_eq!(taken.len(), 50);
    let pending: Vec<(String, String, u64, u64)> = redis.ask("XPENDING dripfeed:{b}:jobs processors - + 100 a").await;
    let pending = if pending.is_empty() { of_any(&redis).await } else { pending };
    assert_eq!(pending.len(), 50);
    assert!(pending.iter().all(|(_, _, _, deliveries)| *deliveries == 1), "{pending:?}");
}

async fn of_any(redis: &TestRedis) -> Vec<(String, String, u64, u64)> {
    redis.ask("XPENDING dripfeed:{b}:jobs processors - + 100").await
}

/// The jobs of the only caller are indexed again when another one comes, even if others always wait from then on.
#[tokio::test]
async fn after_that_the_only_caller_that_was_left_starves_behind_nobody() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    flood(&bucket, "a", 5).await;
    let other = submit(&bucket, of("b", "b")).await;
    assert_eq!(redis.ask::<u64>(&format!("DEL {INDEX}")).await, 2);
    bucket.cancel(other.id).await.unwrap();
    let mut called = 0;
    for _ in 0..20 {
        submit(&bucket, of("b", "b")).await;
        submit(&bucket, of("c", "c")).await;
        for taken in take(&replica, 2).await {
            called += usize::from(body_of(&taken) != "b" && body_of(&taken) != "c");
            settle(&replica, taken, DELIVERED).await;
        }
    }
    assert_eq!(called, 5);
}

#[tokio::test]
async fn deleting_what_is_kept_loses_nothing() {
    for deleted in [INDEX, "dripfeed:{b}:flows", "dripfeed:{b}:ranges"] {
        for by in ["caller", "off"] {
            let redis = TestRedis::start().await;
            let bucket = open(&redis).await;
            let replica = join(&bucket, "a").await;
            flood(&bucket, "a", 300).await;
            flood(&bucket, "b", 300).await;
            for taken in take(&replica, 20).await {
                settle(&replica, taken, Settlement::Requeue).await;
            }
            // The requeued jobs have joined their flows.
            call(&replica, 3, 3).await;
            bucket.apply_overrides(&changed("fair.by", by)).await.unwrap();
            redis.ask::<u64>(&format!("DEL {deleted}")).await;
            submit(&bucket, of("c", "last")).await;
            let bodies = drain(&bucket, &replica, 50).await;
            assert_eq!(bodies.len(), 598, "{deleted} {by}");
            assert_eq!(bucket.examine(false).await.unwrap(), Examination::default(), "{deleted} {by}");
        }
    }
}

#[tokio::test]
async fn the_doctor_finds_what_is_in_no_range_and_mends_it() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    flood(&bucket, "a", 300).await;
    flood(&bucket, "b", 300).await;
    for taken in take(&replica, 20).await {
        settle(&replica, taken, Settlement::Requeue).await;
    }
    call(&replica, 3, 3).await;
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    redis.ask::<u64>(&format!("DEL {INDEX}")).await;
    let kinds = async |repair: bool| {
        let found = bucket.examine(repair).await.unwrap().findings;
        found.iter().map(|finding| (finding.kind, finding.count)).collect::<Vec<_>>()
    };
    let found = kinds(true).await;
    assert!(
        matches!(
            found[..],
            [(FindingKind::Stranded, _), (FindingKind::NeverDue, _)]
                | [(FindingKind::NeverDue, _), (FindingKind::Stranded, _)]
        ),
        "{found:?}"
    );
    assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 597);
    assert_eq!(kinds(false).await, []);
    assert_eq!(drain(&bucket, &replica, 50).await.len(), 597);
}

#[tokio::test]
async fn what_others_add_and_delete_by_hand_takes_its_turn() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    flood(&bucket, "a", 100).await;
    flood(&bucket, "b", 100).await;
    for n in 0..500 {
        redis.ask::<String>(&format!("XADD dripfeed:{{b}}:jobs * body by-hand-{n} caller c")).await;
    }
    let some: Vec<(String, Vec<String>)> = redis.ask("XRANGE dripfeed:{b}:jobs - + COUNT 5").await;
    for (id, _) in &some {
        redis.ask::<u64>(&format!("XDEL dripfeed:{{b}}:jobs {id}")).await;
    }
    assert_eq!(count(&call(&replica, 10, 90).await), counts([("a", 30), ("b", 30), ("c", 30)]));
    submit(&bucket, of("d", "x")).await;
    let bodies = drain(&bucket, &replica, 40).await;
    assert_eq!(bodies.len(), 200 + 500 - 5 - 90 + 1);
    let by_hand: BTreeSet<_> = bodies.iter().filter(|body| body.starts_with("by-hand")).collect();
    assert_eq!(by_hand.len(), 470);
}

#[tokio::test]
async fn a_group_that_was_made_again_hands_out_each_job_once() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    flood(&bucket, "a", 150).await;
    flood(&bucket, "b", 150).await;
    call(&replica, 7, 21).await;
    redis.ask::<u64>("XGROUP DESTROY dripfeed:{b}:jobs processors").await;
    let mut ids = BTreeSet::new();
    let mut taken = Vec::new();
    while taken.len() < 279 {
        if let Take::Jobs(more, _) = replica.take(20).await.unwrap() {
            taken.extend(more);
        }
    }
    assert!(taken.iter().all(|taken| ids.insert(taken.claim.id().to_string())), "one was handed out twice");
    assert!(takes_nothing(&replica).await);
}

#[tokio::test]
async fn the_flows_are_listed_in_the_order_of_their_turns() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    bucket.apply_overrides(&changed("fair.weights", json!({ "shop": 4 }))).await.unwrap();
    flood(&bucket, "flooder", 300).await;
    flood(&bucket, "shop", 5).await;
    for _ in 0..2 {
        submit(&bucket, super::buckets::job("nobody's")).await;
    }
    let replica = join(&bucket, "a").await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let flows = bucket.flows(10).await.unwrap();
    let mut items: Vec<_> =
        flows.items.iter().map(|flow| (flow.caller.as_deref(), flow.waiting, flow.weight)).collect();
    items.sort_unstable();
    assert_eq!(items.iter().map(|(_, waiting, _)| waiting).sum::<u64>(), 306);
    assert_eq!(items.iter().map(|(_, _, weight)| *weight).collect::<Vec<_>>(), [1, 1, 4]);
    assert_eq!(bucket.flows(1).await.unwrap().items, flows.items[..1]);
    let next = take_one(&replica).await;
    assert_eq!(next.job.unwrap().caller, flows.items[0].caller);
    let list = super::buckets::open(&redis, BucketSettings { kind: Kind::List, ..super::buckets::settings("list") });
    assert!(matches!(list.await.flows(1).await, Err(BucketError::Unsupported(_))));
}
