use std::time::Instant;

use dripfeed_tests::client::Client;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_fault_proxy::RedisFaultProxy;
use dripfeed_tests::service::{Service, until};
use http::Method;

use super::intake::ErrorAnswer;
use super::{faults, most_lines};

/// A key that may make others; its secret is `platform`.
const SETTINGS: &str = r#"
[buckets]
b.upstream = "http://127.0.0.1:1/"
[[keys]]
id = "platform"
sha256 = "{hash}"
scopes = ["read", "keys"]
"#;
const READER: &str = r#"{"scopes": ["read"], "buckets": ["b"]}"#;

async fn set() -> (Service, RedisFaultProxy, Process, Client) {
    let hash = dripfeed_auth::format_hash(&dripfeed_auth::hash_of_key(b"platform"));
    let service = Service::new(&SETTINGS.replace("{hash}", &hash)).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    let client = intake.client().with_key("platform");
    (service, proxy, intake, client)
}

async fn call(client: &Client, method: Method, body: &str) -> dripfeed_tests::client::ClientResponse {
    client.call(client.request(method, "/v1/keys/shop"), body.to_owned()).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creating_or_deleting_a_key_reports_its_true_result() {
    let (_service, proxy, intake, client) = set().await;
    let mut wrong = Vec::new();
    for (name, method) in [("put_key", Method::PUT), ("delete_key", Method::DELETE)] {
        let works = async || {
            until("a key is made", async || call(&client, Method::PUT, READER).await.status < 300).await;
            method == Method::PUT || call(&client, Method::DELETE, "").await.status == 204
        };
        // So that the script's name is known at the proxy.
        assert!(works().await);
        for fault in faults() {
            until("a key is made", async || call(&client, Method::PUT, READER).await.status < 300).await;
            proxy.plan(name, fault, 1);
            let answer = ErrorAnswer::by(&call(&client, method.clone(), READER).await);
            assert!(proxy.has_done(name), "{fault:?}");
            if answer != ErrorAnswer::expected(name, fault, &method) {
                wrong.push(format!("{name} {fault:?}: {answer:?}"));
            }
        }
        until("it works again", works).await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!intake.log().contains("panicked"), "{}", intake.log());
}

/// It is asked periodically, without a request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_followed_all_the_same() {
    let (_service, proxy, intake, client) = set().await;
    let begun = Instant::now();
    let made = call(&client, Method::PUT, READER).await;
    let reader = intake.client().with_key(&made.text("key"));
    for fault in faults() {
        proxy.plan("changed_keys", fault, 1);
        proxy.done("changed_keys").await;
        assert_eq!(reader.get("/v1/key").await.expect("an answer").status, 200, "{fault:?}");
    }
    let log = intake.log();
    assert!(!log.contains("panicked"), "{log}");
    let lines = log.lines().filter(|line| !line.contains("audit")).count();
    assert!(lines <= most_lines(begun.elapsed().as_secs()), "{log}");
}
