//! A key holds everywhere within 1 s: one that is made over the API at one intake is valid at every other at once; what
//! it may do, its end and its revocation reach all intakes by their next look, and event streams and sessions end with
//! it. (The interval of the looks is in `crates/auth/src/key_registry.rs`.)

mod bounds;
mod expiry;
mod looks;
mod redis_away;
mod refusals;
mod secrets;

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{PATIENCE, Service, until};
use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

const BUCKETS: &str = r#"
[buckets]
mail.upstream = "http://127.0.0.1:1/"
team-a-1.upstream = "http://127.0.0.1:1/"
team-b-1.upstream = "http://127.0.0.1:1/"
"#;

/// A key of the settings whose secret is its id.
fn configured(id: &str, scopes: &[&str], buckets: &[&str]) -> String {
    let hash = dripfeed_auth::format_hash(&dripfeed_auth::hash_of_key(id.as_bytes()));
    format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{hash}\"\nscopes = {scopes:?}\nbuckets = {buckets:?}\n")
}

fn settings() -> String {
    let all = ["submit", "read", "inspect", "operate", "keys"];
    configured("platform", &all, &["*"])
        + &configured("team-a", &["submit", "read", "keys"], &["team-a-*"])
        + &configured("operator", &all[..4], &["*"])
        + BUCKETS
}

async fn put(client: &Client, id: &str, document: &Value) -> ClientResponse {
    client.call(client.request(Method::PUT, &format!("/v1/keys/{id}")), document.to_string()).await.expect("an answer")
}

async fn delete(client: &Client, id: &str) -> ClientResponse {
    client.call(client.request(Method::DELETE, &format!("/v1/keys/{id}")), "").await.expect("an answer")
}

async fn get(client: &Client, path: &str) -> ClientResponse {
    client.get(path).await.expect("an answer")
}

async fn submit(client: &Client, bucket: &str) -> u16 {
    client.submit(bucket, "x").await.expect("an answer").status
}

/// Makes a key, and returns its secret.
async fn made(client: &Client, id: &str, scopes: &[&str], buckets: &[&str]) -> String {
    let answer = put(client, id, &json!({ "scopes": scopes, "buckets": buckets })).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.text("key")
}

/// Two intakes, whose callers are identified by their keys.
struct Intakes {
    service: Service,
    one: Process,
    other: Process,
}

impl Intakes {
    async fn start() -> Self {
        let service = Service::new(&settings()).await;
        let (one, other) = tokio::join!(service.intake(), service.intake());
        Self { service, one, other }
    }

    fn platform(&self) -> Client {
        self.one.client().with_key("platform")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_made_at_one_intake_is_valid_at_another_at_once() {
    let intakes = Intakes::start().await;
    for n in 0..20 {
        let key = made(&intakes.platform(), &format!("shop-{n}"), &["submit"], &["mail", "team-a-*"]).await;
        let other = intakes.other.client().with_key(&key);
        assert_eq!(submit(&other, "mail").await, 202);
        assert_eq!(submit(&other, "team-a-1").await, 202);
        assert_eq!(submit(&other, "team-b-1").await, 403);
        assert_eq!(get(&other, "/v1/buckets/mail").await.status, 403, "it may not read");
        assert_eq!(get(&other, "/v1/key").await.text("id"), format!("shop-{n}"));
    }
    let third = intakes.service.intake().await;
    let listed = get(&third.client().with_key("platform"), "/v1/keys?limit=7").await.json();
    let ids: Vec<&str> =
        listed["items"].as_array().into_iter().flatten().filter_map(|key| key["id"].as_str()).collect();
    assert_eq!(ids, ["shop-0", "shop-1", "shop-10", "shop-11", "shop-12", "shop-13", "shop-14"]);
    let next = format!("/v1/keys?cursor={}", listed["next"].as_str().expect("a cursor"));
    let rest = get(&third.client().with_key("platform"), &next).await.json();
    assert_eq!((rest["items"].as_array().map(Vec::len), &rest["next"]), (Some(13), &Value::Null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_reaches_every_intake_and_leaves_the_key_itself() {
    let intakes = Intakes::start().await;
    let platform = intakes.platform();
    let key = made(&platform, "shop", &["submit"], &["mail"]).await;
    let other = intakes.other.client().with_key(&key);
    assert_eq!(submit(&other, "mail").await, 202);
    let changed = put(&platform, "shop", &json!({ "scopes": ["read"], "buckets": ["*"] })).await;
    assert_eq!((changed.status, changed.json().get("key")), (200, None), "{changed:?}");
    assert_eq!(submit(&intakes.one.client().with_key(&key), "mail").await, 403);
    until("it may read", async || get(&other, "/v1/buckets/mail").await.status == 200).await;
    assert_eq!(submit(&other, "mail").await, 403);

    // A rotation replaces the secret.
    let hash = dripfeed_auth::format_hash(&dripfeed_auth::hash_of_key(b"successor"));
    let rotated = json!({ "scopes": ["read"], "buckets": ["*"], "sha256": hash });
    assert_eq!(put(&platform, "shop", &rotated).await.status, 200);
    assert_eq!(get(&intakes.other.client().with_key("successor"), "/v1/buckets").await.status, 200);
    until("the old one is refused", async || get(&other, "/v1/buckets").await.status == 401).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_key_ends_everywhere_with_its_event_streams() {
    let intakes = Intakes::start().await;
    let key = made(&intakes.platform(), "shop", &["submit", "read"], &["mail"]).await;
    let [one, other] = [&intakes.one, &intakes.other].map(|intake| intake.client().with_key(&key));
    let mut streams = Vec::new();
    for client in [&one, &other] {
        streams.push(client.stream("/v1/events").await.expect("a stream"));
    }
    assert_eq!(delete(&intakes.platform(), "shop").await.status, 204);
    assert_eq!(submit(&one, "mail").await, 401);
    until("the other intake refuses it", async || submit(&other, "mail").await == 401).await;
    for stream in streams {
        let ended = tokio::time::timeout(PATIENCE, stream.collect()).await.expect("it ends");
        assert!(!ended.expect("whole").to_bytes().is_empty());
    }
    assert_eq!(delete(&intakes.platform(), "shop").await.text("code"), "unknown_key");
    // A key with the same id is made again, with another secret.
    let again = made(&intakes.platform(), "shop", &["submit"], &["mail"]).await;
    assert_eq!(submit(&intakes.other.client().with_key(&again), "mail").await, 202);
    assert_eq!(submit(&other, "mail").await, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_intake_that_starts_later_knows_all_keys() {
    const KEYS: usize = 501;
    let intakes = Intakes::start().await;
    let platform = intakes.platform();
    let mut keys = Vec::new();
    for n in 0..KEYS {
        keys.push(made(&platform, &format!("shop-{n}"), &["submit"], &["mail"]).await);
    }
    assert_eq!(delete(&platform, "shop-7").await.status, 204);
    // As a day later, when a revocation is forgotten that came after all keys of the first page.
    let version: u64 = intakes.service.redis("ZSCORE dripfeed:{@keys}:deleted shop-7").await;
    intakes.service.redis::<u64>(&format!("HSET dripfeed:{{@keys}}:state forgotten {version}")).await;
    let third = intakes.service.intake().await;
    for (n, status) in [(0, 202), (7, 401), (KEYS - 1, 202)] {
        assert_eq!(submit(&third.client().with_key(&keys[n]), "mail").await, status, "{n}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_configured_key_that_may_make_keys_none_of_them_holds() {
    let intakes = Intakes::start().await;
    let key = made(&intakes.platform(), "shop", &["submit"], &["mail"]).await;
    let client = intakes.one.client().with_key(&key);
    assert_eq!(submit(&client, "mail").await, 202);
    intakes.service.configure(&(configured("operator", &["read"], &["*"]) + BUCKETS));
    intakes.one.hang_up();
    until("it is refused", async || submit(&client, "mail").await == 401).await;
    intakes.service.configure(&settings());
    intakes.one.hang_up();
    until("it is valid again", async || submit(&client, "mail").await == 202).await;
}
