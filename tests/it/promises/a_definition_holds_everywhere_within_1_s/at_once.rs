//! Several clients define one bucket at once. Each one's response is about the definition that it has sent.

use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};

use super::*;

/// The script after a definition is stored,
const OPEN: &str = "open_bucket";
/// and the one that reads the state for the response.
const SHOW: &str = "census";

const SETTINGS: &str = "[define]\nupstreams = [\"http://127.0.0.1:1\"]\nallow_private = true\n";

fn of(capacity: u64) -> Value {
    json!({ "upstream": "http://127.0.0.1:1/", "capacity": capacity })
}

async fn put_if(client: &Client, (header, tag): (&'static str, &str), capacity: u64) -> ClientResponse {
    let request = client.request(Method::PUT, "/v1/buckets/b").header(header, tag);
    client.call(request, of(capacity).to_string()).await.expect("an answer")
}

/// Creates the bucket with a capacity of 7, and calls another intake before this `script`. Returns both results.
async fn created_and<T>(
    script: &'static str,
    meanwhile: impl AsyncFnOnce(&Client) -> T,
) -> (ClientResponse, T, (Service, Process)) {
    let service = Service::new(SETTINGS).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let creating = service.role("intake", &[&url, "redis.response_timeout=10s", "processor.lease=30s"]).await;
    let other = service.intake().await;
    proxy.plan(script, ProxyFault::Hold, 1);
    let client = creating.client();
    let (created, done) = tokio::join!(put_if(&client, ("if-none-match", "*"), 7), async {
        proxy.done(script).await;
        proxy.behave(script);
        let done = meanwhile(&other.client()).await;
        proxy.release();
        done
    });
    (created, done, (service, other))
}

#[tokio::test]
async fn a_bucket_exists_for_all_once_one_has_defined_it() {
    let (created, others, _) = created_and(OPEN, async |other| {
        [put_if(other, ("if-none-match", "*"), 8).await, put_if(other, ("if-match", "\"1\""), 9).await]
    })
    .await;
    assert_eq!(created.status, 201, "{created:?}");
    for refused in others {
        assert_eq!((refused.status, refused.text("code").as_str()), (412, "precondition_failed"), "{refused:?}");
    }
}

#[tokio::test]
async fn an_answer_has_the_version_that_its_caller_has_sent() {
    let (created, changed, (_service, other)) = created_and(OPEN, async |other| put(other, "b", &of(8)).await).await;
    assert_eq!((created.status, changed.status), (201, 200), "{created:?} {changed:?}");
    assert_eq!((&created.json()["definition"], &changed.json()["definition"]), (&of(7), &of(8)));

    let client = other.client();
    let late = put_if(&client, ("if-match", created.headers["etag"].to_str().expect("a tag")), 9).await;
    assert_eq!(late.status, 412, "it would undo what it hasn't seen: {late:?}");
    assert_eq!(get(&client, "/v1/buckets/b").await.json()["definition"], of(8));
}

#[tokio::test]
async fn a_deletion_during_a_definition_is_not_its_final_answer() {
    let (created, deleted, (_service, other)) = created_and(SHOW, async |other| delete(other, "b").await).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!((created.status, created.text("code").as_str()), (503, "store_unavailable"), "{created:?}");
    assert!(created.headers.contains_key("retry-after"), "{created:?}");
    assert_eq!(put(&other.client(), "b", &of(7)).await.status, 201);
}

#[tokio::test]
async fn a_list_has_no_bucket_that_is_unknown() {
    let items = async |client: &Client| get(client, "/v1/buckets").await.json()["items"].clone();
    let (created, listed, _) = created_and(OPEN, async |other| {
        until("the other intake knows the bucket", async || items(other).await != json!([])).await;
        items(other).await
    })
    .await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!((&listed[0]["name"], &listed[0]["capacity"]), (&json!("b"), &json!(7)), "{listed}");
}
