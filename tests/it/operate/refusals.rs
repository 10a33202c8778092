//! Which callers were refused by which limits, as all intakes count them together.

use dripfeed_bucket::{Bucket, MAX_REFUSAL_COUNTERS, Refusals};
use dripfeed_tests::buckets;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use serde_json::json;
use sha2::{Digest as _, Sha256};

fn refusals(caller: &str, refused: u64) -> Refusals {
    Refusals { caller: caller.to_owned(), limit: "each".to_owned(), refused }
}

#[tokio::test]
async fn the_refusals_of_all_intakes_in_this_hour_and_the_last_are_counted_together() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let [one, other] = [(); 2].map(|()| Bucket::new(store.clone(), buckets::settings("b")));
    assert_eq!(one.add_refusals(&[refusals("a b", 2), refusals("c", 1)]).await.expect("Redis answers").counts.len(), 2);
    let (s, _): (u64, u64) = store.command(&redis::cmd("TIME")).await.expect("Redis answers");
    let of_hour = |hour: u64| format!("{hour} each a b");
    let mut earlier = redis::cmd("HSET");
    earlier.arg("dripfeed:{b}:refusals").arg(of_hour(s / 3600 - 1)).arg(10).arg(of_hour(s / 3600 - 2)).arg(100);
    store.command::<()>(&earlier).await.expect("Redis answers");
    let all = other.add_refusals(&[refusals("c", 5)]).await.expect("Redis answers");
    assert_eq!((all.are_added, all.counts), (true, vec![refusals("a b", 12), refusals("c", 6)]));
    let fields: Vec<String> =
        store.command(redis::cmd("HKEYS").arg("dripfeed:{b}:refusals")).await.expect("Redis answers");
    assert!(fields.len() == 3 && !fields.contains(&of_hour(s / 3600 - 2)), "{fields:?}");
    let ttl: i64 = store.command(redis::cmd("PTTL").arg("dripfeed:{b}:refusals")).await.expect("Redis answers");
    assert!((1..=7_200_000).contains(&ttl), "{ttl}");
}

#[tokio::test]
async fn of_any_number_of_callers_as_many_are_counted_as_there_are_counters_and_none_too_low() {
    let redis = TestRedis::start().await;
    let bucket = Bucket::new(redis.store().await, buckets::settings("b"));
    for round in 0..10 {
        let mut new: Vec<Refusals> = (0..20).map(|n| refusals(&format!("{round}-{n}"), 1)).collect();
        new.push(refusals("flood", 50));
        bucket.add_refusals(&new).await.expect("Redis answers");
    }
    let counts = bucket.add_refusals(&[]).await.expect("Redis answers").counts;
    // The hour may have changed meanwhile.
    assert!((1..=2).contains(&counts.len().div_ceil(MAX_REFUSAL_COUNTERS)), "{counts:?}");
    assert!(counts[0].caller == "flood" && counts[0].refused >= 500, "{counts:?}");
}

#[tokio::test]
async fn a_caller_whose_counter_was_taken_over_gets_another_one_in_the_same_call() {
    let redis = TestRedis::start().await;
    let bucket = Bucket::new(redis.store().await, buckets::settings("b"));
    let mut full: Vec<Refusals> = (1..MAX_REFUSAL_COUNTERS).map(|n| refusals(&format!("other-{n}"), 2)).collect();
    full.push(refusals("lowest", 1));
    bucket.add_refusals(&full).await.expect("Redis answers");
    bucket.add_refusals(&[refusals("new", 1), refusals("lowest", 1)]).await.expect("Redis answers");
    let counts = bucket.add_refusals(&[]).await.expect("Redis answers").counts;
    assert!(counts.iter().any(|counted| counted.caller == "lowest" && counted.refused >= 2), "{counts:?}");
}

#[tokio::test]
async fn an_intake_shows_who_was_refused_at_another_one() {
    let sha256: String = Sha256::digest("shop").iter().map(|byte| format!("{byte:02x}")).collect();
    let key = format!("[[keys]]\nid = \"shop\"\nsha256 = \"{sha256}\"\nscopes = [\"submit\", \"read\"]\n");
    let bucket = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 100\nmax_share = \"1%\"\n";
    let service = Service::new(&(key + bucket)).await;
    let (one, other) = (service.intake().await, service.intake().await);
    let (one, other) = (one.client().with_key("shop"), other.client().with_key("shop"));
    for status in [202, 429, 429] {
        assert_eq!(one.submit("b", "x").await.expect("an answer").status, status);
    }
    let refused = [json!({ "caller": "shop", "limit": "max_share", "refused": 2 })];
    until("the other intake shows the refusals", async || {
        let holders = other.get("/v1/buckets/b/holders").await.expect("an answer").json();
        holders["refused"] == json!(refused)
    })
    .await;
}
