use dripfeed_auth::{ApiKey, ApiKeys, DeleteKeyResult, NewKey, PutKeyResult, Scope, Selector, hash_of_key};
use dripfeed_job::Priority;
use dripfeed_store::Durability;
use dripfeed_tests::cluster::TestCluster;

fn key(id: &str, scope: Scope) -> ApiKey {
    let (buckets, services) = (Selector::All, Selector::All);
    let sha256 = hash_of_key(id.as_bytes());
    ApiKey { id: id.to_owned(), sha256, scopes: vec![scope], buckets, services, priority: Priority::Normal }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_made_followed_and_revoked_in_a_cluster() {
    let cluster = TestCluster::start(3, 0, "").await;
    let keys = || async {
        let store = cluster.store(Durability::Everysec).await;
        ApiKeys::new([key("platform", Scope::Keys)]).with_registry(store)
    };
    let (one, other) = (keys().await, keys().await);
    let made = key("shop", Scope::Read);
    let new = NewKey { key: &made, not_after_ms: Some(u64::MAX >> 12), known: None, by: "platform", detail: "" };
    let registry = one.registry().expect("a key that may make keys");
    assert!(matches!(registry.put(&new).await.expect("the Cluster answers"), PutKeyResult::Done(_)));
    assert_eq!(registry.put(&new).await.expect("the Cluster answers"), PutKeyResult::Changed);
    other.follow().await.expect("the Cluster answers");
    let known = other.run_time_keys()["shop"].clone();
    assert_eq!((&*known.key, known.by.as_str()), (&made, "platform"));
    let again = NewKey { known: Some(known.version), detail: "again", ..new };
    assert!(matches!(registry.put(&again).await.expect("the Cluster answers"), PutKeyResult::Done(_)));
    let late = registry.delete(&known, "platform").await.expect("the Cluster answers");
    assert_eq!(late, DeleteKeyResult::Changed, "it is another one by now than its caller knows");
    other.follow().await.expect("the Cluster answers");
    let known = other.run_time_keys()["shop"].clone();
    assert_eq!(registry.delete(&known, "platform").await.expect("the Cluster answers"), DeleteKeyResult::Done);
    assert_eq!(registry.delete(&known, "platform").await.expect("the Cluster answers"), DeleteKeyResult::Gone);
    other.follow().await.expect("the Cluster answers");
    assert!(other.run_time_keys().is_empty());
    let trail = registry.audit_trail().await.expect("the Cluster answers");
    assert_eq!(trail.iter().map(|entry| entry.action.as_str()).collect::<Vec<_>>(), ["delete", "change", "create"]);
}
