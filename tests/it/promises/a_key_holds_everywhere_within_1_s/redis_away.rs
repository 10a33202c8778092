use std::time::Instant;

use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use futures::future::join_all;

use super::*;

async fn behind_a_proxy() -> (Service, RedisFaultProxy, Process) {
    let service = Service::new(&settings()).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    (service, proxy, intake)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_cannot_say_which_keys_there_are_those_that_are_known_go_on() {
    let (service, proxy, intake) = behind_a_proxy().await;
    let platform = intake.client().with_key("platform");
    let key = made(&platform, "shop", &["submit"], &["mail"]).await;
    let (now, _): (i64, u64) = service.redis("TIME").await;
    let end = jiff::Timestamp::from_second(now + 3).expect("a time").to_string();
    let brief = json!({ "scopes": ["submit"], "buckets": ["mail"], "not_after": end });
    let brief = put(&platform, "brief", &brief).await.text("key");
    proxy.plan("changed_keys", ProxyFault::Error("LOADING Redis is loading the dataset in memory"), u64::MAX);
    let asked = proxy.calls("changed_keys");
    until("it is asked in vain", async || proxy.calls("changed_keys") > asked).await;
    assert_eq!(submit(&intake.client().with_key(&key), "mail").await, 202);
    let brief = intake.client().with_key(&brief);
    until("time goes on", async || submit(&brief, "mail").await != 202).await;
    let unknown = intake.client().with_key("unknown").submit("mail", "x").await.expect("an answer");
    assert_eq!((unknown.status, unknown.text("code").as_str()), (503, "store_unavailable"), "nobody knows of it");
    // The keys of the settings need no Redis.
    assert_eq!(get(&intake.client().with_key("operator"), "/v1/key").await.status, 200);
    proxy.behave("changed_keys");
    let unknown = intake.client().with_key("unknown");
    until("it is known to be unknown", async || submit(&unknown, "mail").await == 401).await;
    assert_eq!(submit(&brief, "mail").await, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_keys_cost_redis_few_calls_however_many_come() {
    const CALLERS: usize = 50;
    let (_service, proxy, intake) = behind_a_proxy().await;
    let (begun, before) = (Instant::now(), proxy.calls("changed_keys"));
    for round in 0..10 {
        let clients = (0..CALLERS).map(|n| intake.client().with_key(&format!("guess-{round}-{n}")));
        let answers = join_all(clients.map(|client| async move { submit(&client, "mail").await })).await;
        assert_eq!(answers, [401; CALLERS]);
    }
    // At most 20 calls a second for unknown keys, and one for the look every 400 ms.
    let (calls, most) = (proxy.calls("changed_keys") - before, 23 * (begun.elapsed().as_secs() + 1));
    assert!(calls <= most, "{calls} calls, at most {most}");
    // Requests with a known key, or without one, need no call of Redis.
    let before = proxy.all_calls();
    join_all((0..CALLERS).map(|_| async { submit(&intake.client(), "mail").await })).await;
    assert!(proxy.all_calls() - before < CALLERS as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_redis_has_lost_is_gone_and_can_be_made_again() {
    let intakes = Intakes::start().await;
    let key = made(&intakes.platform(), "shop", &["submit"], &["mail"]).await;
    let client = intakes.other.client().with_key(&key);
    assert_eq!(submit(&client, "mail").await, 202);
    intakes.service.redis::<String>("FLUSHALL").await;
    until("it is refused", async || submit(&client, "mail").await == 401).await;
    let again = made(&intakes.platform(), "shop", &["submit"], &["mail"]).await;
    assert_eq!(submit(&intakes.other.client().with_key(&again), "mail").await, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_wrote_under_our_keys_is_left_aside() {
    let intakes = Intakes::start().await;
    let key = made(&intakes.platform(), "shop", &["submit"], &["mail"]).await;
    for id in ["broken", "a\u{a0}b"] {
        intakes.service.redis::<u64>(&format!("HSET dripfeed:{{@keys}}:keys {id} nonsense")).await;
        intakes.service.redis::<u64>(&format!("ZADD dripfeed:{{@keys}}:changed 9000000000000000 {id}")).await;
    }
    intakes.service.redis::<u64>("HSET dripfeed:{@keys}:state version 9000000000000000").await;
    until("it is reported", async || intakes.other.log().contains("ignoring")).await;
    assert_eq!(submit(&intakes.other.client().with_key(&key), "mail").await, 202);
    let next = made(&intakes.platform(), "next", &["submit"], &["mail"]).await;
    assert_eq!(submit(&intakes.other.client().with_key(&next), "mail").await, 202);
}
