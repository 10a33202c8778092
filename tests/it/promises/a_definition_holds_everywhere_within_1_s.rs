//! A definition holds everywhere within 1 s: a bucket that is created over the API at one intake takes jobs at every
//! other at once, changes and deletions reach all processes by their next look, and a name that was deleted comes back
//! clean. (The interval of the looks is in `crates/dripfeed/src/role/defined.rs`.)

mod abandoned;
mod at_once;
mod bounds;
mod clean_names;
mod created_again;
mod credentials;
mod deletions;
mod earlier_buckets;
mod failover;
mod histories;
mod looks;
mod pages;
mod redis_away;
mod refusals;
mod reload;
mod undecryptable;

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use http::Method;
use serde_json::{Value, json};

/// Settings that allow definitions of buckets that call this upstream, which is on this machine.
fn settings(upstream: &Upstream) -> String {
    format!("[define]\nupstreams = [\"{}\"]\nallow_private = true\n", upstream.url().trim_end_matches("/feed"))
}

fn calling(upstream: &Upstream) -> Value {
    json!({ "upstream": upstream.url(), "leak": { "concurrency": 4 } })
}

async fn put(client: &Client, bucket: &str, definition: &Value) -> ClientResponse {
    let request = client.request(Method::PUT, &format!("/v1/buckets/{bucket}"));
    client.call(request, definition.to_string()).await.expect("an answer")
}

async fn delete(client: &Client, bucket: &str) -> ClientResponse {
    client.call(client.request(Method::DELETE, &format!("/v1/buckets/{bucket}")), "").await.expect("an answer")
}

async fn get(client: &Client, path: &str) -> ClientResponse {
    client.get(path).await.expect("an answer")
}

async fn submit(client: &Client, bucket: &str) -> ClientResponse {
    client.submit(bucket, "x").await.expect("an answer")
}

/// Two intakes and a processor, without any bucket in their settings.
struct Roles {
    service: Service,
    one: Process,
    other: Process,
    processor: Process,
}

impl Roles {
    async fn start(upstream: &Upstream) -> Self {
        let service = Service::new(&settings(upstream)).await;
        let (one, other, processor) = tokio::join!(service.intake(), service.intake(), service.processor());
        Self { service, one, other, processor }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_created_at_one_intake_takes_jobs_at_another_at_once() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    for n in 0..20 {
        let bucket = format!("team-a-{n}");
        let created = put(&one, &bucket, &calling(&upstream)).await;
        assert_eq!(created.status, 201, "{created:?}");
        let submitted = match n % 3 {
            0 => submit(&other, &bucket).await,
            1 => other.post(&format!("/v1/buckets/{bucket}/proxy/x"), "x").await.expect("an answer"),
            _ => {
                let batch = other.request(Method::POST, &format!("/v1/buckets/{bucket}/jobs/batch"));
                let batch = batch.header("content-type", "application/x-ndjson");
                other.call(batch, r#"{"body":1}"#).await.expect("an answer")
            }
        };
        assert_eq!(submitted.status, 202, "{submitted:?}");
    }
    upstream.has_got(20).await;
    let listed = get(&other, "/v1/buckets").await.json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_and_a_deletion_reach_every_process() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    put(&one, "b", &calling(&upstream)).await;
    assert_eq!(submit(&other, "b").await.status, 202);
    roles.service.drained("b").await;
    let mut changed = calling(&upstream);
    changed["capacity"] = json!(7);
    let answer = put(&one, "b", &changed).await;
    assert_eq!((answer.status, answer.number("capacity")), (200, 7));
    until("the other intake has it", async || get(&other, "/v1/buckets/b").await.number("capacity") == 7).await;

    assert_eq!(delete(&one, "b").await.status, 204);
    // The other intake may not know of the deletion yet, but the bucket's state in Redis shows it at once.
    let late = submit(&other, "b").await;
    assert_eq!((late.status, late.text("code").as_str()), (404, "unknown_bucket"), "{late:?}");
    assert_eq!(roles.service.level("b").await, 0);
    until("it is listed nowhere", async || {
        get(&other, "/v1/buckets").await.json()["items"].as_array().is_some_and(Vec::is_empty)
    })
    .await;
    let has_left = |log: String| log.contains("this replica has left the bucket") || log.contains("this replica left");
    until("the processor has left it", async || has_left(roles.processor.log())).await;
    let log = roles.processor.log();
    assert!(!log.contains("declared dead") && !log.contains("panicked"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_processor_takes_a_bucket_that_was_created_again_for_no_death() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let client = roles.one.client();
    for round in 1..=20 {
        put(&client, "b", &calling(&upstream)).await;
        let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("dripfeed-delay", "1h");
        assert_eq!(client.call(request, "later").await.expect("an answer").status, 202);
        until("the processor has parked it", async || roles.service.counts("b").await.parked == 1).await;
        // In some rounds the processor learns both at once: that it isn't a member, and that the bucket is another one.
        if round % 2 == 0 {
            roles.processor.pause();
        }
        let delete = client.request(Method::DELETE, "/v1/buckets/b?purge=true");
        assert_eq!(client.call(delete, "").await.expect("an answer").status, 204);
        put(&client, "b", &calling(&upstream)).await;
        roles.processor.resume();
        assert_eq!(submit(&client, "b").await.status, 202);
        upstream.has_got(round).await;
        assert_eq!(delete_when_empty(&roles, &client).await, 204);
    }
    let log = roles.processor.log();
    assert!(!log.contains("declared dead"), "{log}");
}

async fn delete_when_empty(roles: &Roles, client: &Client) -> u16 {
    roles.service.drained("b").await;
    delete(client, "b").await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_creates_a_thousand_buckets() {
    const BUCKETS: usize = 1000;
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    for n in 0..BUCKETS {
        let created = put(&one, &format!("b-{n}"), &calling(&upstream)).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    assert_eq!(submit(&other, &format!("b-{}", BUCKETS - 1)).await.status, 202);
    until("the other intake has all", async || {
        get(&other, "/v1/buckets").await.json()["items"].as_array().map(Vec::len) == Some(BUCKETS)
    })
    .await;
    // An intake that starts later reads the definitions in pages.
    let third = roles.service.intake().await;
    assert_eq!(submit(&third.client(), "b-0").await.status, 202);
    upstream.has_got(2).await;
}
