use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use dripfeed_store::Durability;
use dripfeed_tests::client::Client;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{PATIENCE, Service};
use dripfeed_tests::upstream::{Answer, Upstream};
use http::Method;

use super::{Names, check, missing, unknown, updating};

/// Buckets whose work touches every key.
pub(crate) const WORK: &str = r#"
[buckets.stream]
upstream = "{upstream}"
max_share = "50%"
timeout = "60s"
on_outcome = { bucket = "list", outcomes = ["dead"] }
[buckets.stream.leak]
rate = "100/s"
tiers = [{ kind = "fixed", limit = 1000, period = "1m" }]
[buckets.stream.fair]
max_in_flight = 5
[buckets.stream.keep]
idempotency_keys = "1h"
[[buckets.stream.limits]]
id = "each"
key = ["caller", "header:x-shop"]
tiers = [{ kind = "bucket", rate = "100/s", burst = 100 }]
[buckets.list]
kind = "list"
upstream = "{upstream}"
[define]
upstreams = ["https://api.partner.example"]
"#;
const DEFINITION: &str = r#"{"upstream":"https://api.partner.example/"}"#;
/// Enough to see each key.
const ROUNDS: Duration = Duration::from_secs(15);
const RULES: &str = r#"{"policies":[{"id":"each","key":["caller"],"tiers":[{"kind":"bucket","rate":"100/m"}]}]}"#;

/// On a slow machine a request times out here no sooner than anywhere else.
pub(crate) async fn roles(service: &Service) -> (Process, Process) {
    let settings = &["redis.response_timeout=30s", "processor.lease=2m"];
    tokio::join!(service.role("intake", settings), service.role("processor", settings))
}

/// Jobs of all kinds: delivered, delayed, dead, waited for, with a key; and checks of a service.
pub(crate) async fn work(intake: &Client) {
    let request = |path: &str| intake.request(Method::POST, path).header("x-shop", "a");
    let jobs = "/v1/buckets/stream/jobs";
    let calls = [
        (request(jobs).header("idempotency-key", "k"), "200"),
        (request(jobs).header("dripfeed-delay", "2s"), "200"),
        (request(jobs).header("dripfeed-delay", "1s").header("idempotency-key", "later"), "200"),
        (request(jobs).header("prefer", "wait=5"), "slow"),
        (request(jobs), "404"),
        (request("/v1/buckets/list/jobs"), "200"),
    ];
    let rules = intake.request(Method::PUT, "/v1/services/shop/rules").header("content-type", "application/json");
    intake.call(rules, RULES).await.expect("an answer");
    let answers = calls.map(|(request, body)| intake.call(request, body));
    let (answers, ()) = tokio::join!(futures::future::join_all(answers), a_check(intake));
    for answer in answers {
        let answer = answer.expect("an answer");
        assert!(answer.status < 300, "{answer:?}");
    }
    let schedule = intake.request(Method::PUT, "/v1/buckets/stream/schedules/often");
    intake.call(schedule, r#"{"every":"1s","job":{"body":"200"}}"#).await.expect("an answer");
    for bucket in ["defined", "deleted"] {
        let path = format!("/v1/buckets/{bucket}");
        intake.call(intake.request(Method::PUT, &path), DEFINITION).await.expect("an answer");
    }
    intake.call(intake.request(Method::DELETE, "/v1/buckets/deleted"), "").await.expect("an answer");
    // What comes during a call, before the next take, is noted until then.
    for (path, body) in [("jobs", "slow"), ("pause", ""), ("jobs", "200"), ("resume", "")] {
        intake.post(&format!("/v1/buckets/stream/{path}"), body).await.expect("an answer");
    }
    // Most rounds have a letter for it.
    intake.post("/v1/buckets/stream/dead/replays", "").await.expect("an answer");
}

/// Asked again while Redis is too slow for it: a check gives Redis some milliseconds, and a busy machine takes more.
async fn a_check(intake: &Client) {
    let begun = Instant::now();
    loop {
        let check = intake.request(Method::POST, "/v1/services/shop/check").header("content-type", "application/json");
        let answer = intake.call(check, r#"{"caller":"alice"}"#).await.expect("an answer");
        if answer.status == 200 {
            return;
        }
        assert!(answer.status == 503 && begun.elapsed() < PATIENCE, "{answer:?}");
    }
}

#[tokio::test]
async fn keys_and_fields_in_redis_keep_their_names() {
    let upstream = Upstream::start(|call| async move {
        match call.text() {
            "404" => Answer::Status(404),
            "slow" => {
                // Long enough that somebody sees its keys.
                tokio::time::sleep(Duration::from_millis(300)).await;
                Answer::Status(200)
            }
            _ => Answer::Status(200),
        }
    })
    .await;
    let of_keys = names_of_keys().await;
    // What is seen between two looks depends on who else runs.
    let redis = TestRedis::start().await;
    let service = Service::alone(redis, Durability::Everysec, &WORK.replace("{upstream}", &upstream.url())).await;
    let (intake, _processor) = roles(&service).await;
    let client = intake.client();
    let (mut seen, begun) = (of_keys, Instant::now());
    loop {
        let mut work = pin!(work(&client));
        loop {
            tokio::select! {
                () = &mut work => break,
                names = names(&service) => seen.extend(names),
            }
        }
        seen.extend(names(&service).await);
        // A name that is new doesn't become known by waiting, and one that is gone may be written later.
        let done = if updating() { begun.elapsed() > ROUNDS } else { missing("redis", &seen).is_empty() };
        if done || !unknown("redis", &seen).is_empty() && !updating() || begun.elapsed() > PATIENCE {
            break;
        }
    }
    check("redis", &seen);
}

/// The Redis keys of API keys, where some are created over the API, and of refused callers.
async fn names_of_keys() -> Names {
    let hash = dripfeed_auth::format_hash(&dripfeed_auth::hash_of_key(b"platform"));
    let key = format!("[[keys]]\nid = \"platform\"\nsha256 = \"{hash}\"\nscopes = [\"read\", \"submit\", \"keys\"]\n");
    let full = "[buckets.stream]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 1\n";
    let service = Service::new(&(key + full)).await;
    let intake = service.intake().await;
    let client = intake.client().with_key("platform");
    for id in ["made", "revoked"] {
        let request = client.request(Method::PUT, &format!("/v1/keys/{id}"));
        let made = client.call(request, r#"{"scopes":["read"],"buckets":["*"],"not_after":"2100-01-01T00:00:00Z"}"#);
        assert_eq!(made.await.expect("an answer").status, 201);
    }
    client.call(client.request(Method::DELETE, "/v1/keys/revoked"), "").await.expect("an answer");
    for status in [202, 429] {
        assert_eq!(client.submit("stream", "x").await.expect("an answer").status, status);
    }
    client.get("/v1/buckets/stream/holders").await.expect("an answer");
    let is_of_keys = |name: &String| name.contains("{@keys}") || name.contains(":refusals ");
    names(&service).await.into_iter().filter(is_of_keys).collect()
}

/// Keys with their types, and fields of hashes; what is chosen by callers or by chance is left out.
async fn names(service: &Service) -> Names {
    let mut names = Names::new();
    for key in service.redis::<Vec<String>>("KEYS *").await {
        let kind: String = service.redis(&format!("TYPE {key}")).await;
        let name = constant(&key);
        match kind.as_str() {
            // It has expired.
            "none" => continue,
            "hash" => {
                let fields: HashMap<String, redis::Value> = service.redis(&format!("HGETALL {key}")).await;
                names.extend(fields.keys().map(|field| format!("{name} hash {}", constant(field))));
            }
            kind => drop(names.insert(format!("{name} {kind}"))),
        }
    }
    names
}

/// Parts with a digit, as ids, slots, tokens and names of replicas have, are another each time; so are hashes, which
/// begin with `#` and may have no digit.
fn constant(name: &str) -> String {
    let is_another = |part: &str| part.starts_with('#') || part.bytes().any(|byte| byte.is_ascii_digit());
    let parts = name.split(':').map(|part| if is_another(part) { "…" } else { part });
    parts.collect::<Vec<_>>().join(":")
}
