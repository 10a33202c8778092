use dripfeed_auth::{
    ApiKey, ApiKeys, DeleteKeyResult, KeyRegistry, NewKey, PutKeyResult, Scope, Selector, hash_of_key,
};
use dripfeed_bucket::INSTALLATION;
use dripfeed_job::Priority;
use dripfeed_tests::redis_server::TestRedis;
use futures::StreamExt as _;

const MOST: usize = 10_000;

fn key(id: &str, names: usize) -> ApiKey {
    let names: Vec<String> = (0..names).map(|n| format!("{n:060}")).collect();
    let buckets = Selector::parse(&names).expect("names");
    let (sha256, services) = (hash_of_key(id.as_bytes()), Selector::Named([].into()));
    ApiKey { id: id.to_owned(), sha256, scopes: vec![Scope::Read], buckets, services, priority: Priority::Normal }
}

async fn store(registry: &KeyRegistry, key: &ApiKey, not_after_ms: Option<u64>) -> PutKeyResult {
    let new = NewKey { key, not_after_ms, known: None, by: "platform", detail: "" };
    registry.put(&new).await.expect("Redis answers")
}

async fn used(redis: &TestRedis) -> u64 {
    let info: String = redis.store().await.command(redis::cmd("INFO").arg("memory")).await.expect("Redis answers");
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:")).expect("a line");
    line.trim().parse().expect("a number")
}

fn keys_over(redis: dripfeed_store::Store) -> ApiKeys {
    ApiKeys::new([ApiKey { scopes: vec![Scope::Keys], ..key("platform", 0) }]).with_registry(redis)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn number_and_bytes_of_all_keys_are_bounded_and_fit_the_formula_of_memory() {
    let redis = TestRedis::start().await;
    let all = keys_over(redis.store().await);
    let registry = all.registry().expect("a key that may make keys");
    let empty = used(&redis).await;
    let many = futures::stream::iter(0..MOST);
    // The keys have the largest average size that is allowed.
    let ends =
        many.map(|n| async move { store(registry, &key(&format!("k{n:0>59}"), 12), Some(u64::MAX >> 12)).await });
    let ends: Vec<PutKeyResult> = ends.buffer_unordered(32).collect().await;
    let done = ends.iter().filter(|end| matches!(end, PutKeyResult::Done(_))).count();
    let bytes: u64 = ends.len() as u64;
    assert!(done < MOST && ends.contains(&PutKeyResult::ManyBytes), "{done} of {bytes}");
    all.follow().await.expect("Redis answers");
    assert_eq!(all.run_time_keys().len(), done, "what is stored can be read");
    let taken = used(&redis).await - empty;
    assert!(taken <= INSTALLATION - (80 << 20), "{taken} bytes");
    assert_eq!(store(registry, &key("long", 200), None).await, PutKeyResult::ManyBytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_keys_is_bounded() {
    let redis = TestRedis::start().await;
    let all = keys_over(redis.store().await);
    let registry = all.registry().expect("a key that may make keys");
    let many = futures::stream::iter(0..MOST);
    let ends = many.map(|n| async move { store(registry, &key(&format!("k{n}"), 1), None).await });
    let ends: Vec<PutKeyResult> = ends.buffer_unordered(32).collect().await;
    assert!(ends.iter().all(|end| matches!(end, PutKeyResult::Done(_))));
    assert_eq!(store(registry, &key("one-more", 1), None).await, PutKeyResult::ManyKeys);
    all.follow().await.expect("Redis answers");
    let known = all.run_time_keys().get("k7").cloned().expect("a key");
    registry.delete(&known, "platform").await.expect("Redis answers");
    assert!(matches!(store(registry, &key("one-more", 1), None).await, PutKeyResult::Done(_)));
    // A key that expired long ago takes no room.
    let mut expire = redis::cmd("ZADD");
    expire.arg("dripfeed:{@keys}:expires").arg(1).arg("k8");
    redis.store().await.command::<u64>(&expire).await.expect("Redis answers");
    assert!(matches!(store(registry, &key("yet-another", 1), None).await, PutKeyResult::Done(_)));
    all.follow().await.expect("Redis answers");
    assert!(!all.run_time_keys().contains_key("k8") && all.run_time_keys().contains_key("yet-another"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_can_be_revoked_when_redis_is_full() {
    let redis = TestRedis::start().await;
    let all = keys_over(redis.store().await);
    let registry = all.registry().expect("a key that may make keys");
    assert!(matches!(store(registry, &key("shop", 1), None).await, PutKeyResult::Done(_)));
    all.follow().await.expect("Redis answers");
    let known = all.run_time_keys()["shop"].clone();
    redis.ask::<()>("CONFIG SET maxmemory 1").await;
    let more = key("more", 1);
    let new = NewKey { key: &more, not_after_ms: None, known: None, by: "platform", detail: "" };
    assert!(registry.put(&new).await.is_err(), "there is no room");
    assert_eq!(registry.delete(&known, "platform").await.expect("Redis answers"), DeleteKeyResult::Done);
    all.follow().await.expect("Redis answers");
    assert!(all.run_time_keys().is_empty());
}
