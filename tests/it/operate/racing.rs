//! Two who change one thing at once, without a condition: each is answered for its own change.

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::Service;
use http::Method;
use serde_json::{Value, json};

const BUCKET: &str = "/v1/buckets/b";
const SCHEDULE: &str = "/v1/buckets/b/schedules/nightly";
const CONFIGURATION: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 100\nleak.rate = \"10/s\"\n";

/// What comes between a change and its answer.
const AUDIT: &str = "record_audit";
/// What writes a change of settings.
const APPLY: &str = "apply_overrides";

type Change<'c> = (Method, &'c str, Value);

async fn send(client: &Client, (method, path, body): Change<'_>, if_match: Option<&str>) -> ClientResponse {
    let request = client.request(method, path);
    let request = if_match.into_iter().fold(request, |request, tag| request.header("if-match", tag));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    client.call(request, body).await.expect("an answer")
}

/// The answers to `first`, and to `second`, which another intake carries out before that `script` of the first; and
/// the other intake.
async fn both(
    before: &[Change<'_>],
    (first, script): (Change<'_>, &'static str),
    second: Change<'_>,
) -> ([ClientResponse; 2], (Service, Process)) {
    let service = Service::new(CONFIGURATION).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let one = service.role("intake", &[&url, "redis.response_timeout=10s", "processor.lease=30s"]).await;
    let other = service.intake().await;
    for change in before {
        assert_eq!(send(&other.client(), change.clone(), None).await.status, 200, "{change:?}");
    }
    proxy.plan(script, ProxyFault::Hold, 1);
    let client = one.client();
    let (first, second) = tokio::join!(send(&client, first, None), async {
        proxy.done(script).await;
        proxy.behave(script);
        let answer = send(&other.client(), second, None).await;
        proxy.release();
        answer
    });
    ([first, second], (service, other))
}

/// What is shown of an answer, which is no refusal.
fn shown<T>(answer: &ClientResponse, show: impl Fn(&Value) -> T) -> T {
    assert_eq!(answer.status, 200, "{answer:?}");
    show(&answer.json())
}

fn tag(answer: &ClientResponse) -> &str {
    answer.headers["etag"].to_str().expect("text")
}

fn schedule(minutes: u64) -> Change<'static> {
    (Method::PUT, SCHEDULE, json!({ "every": format!("{minutes}m"), "job": { "body": minutes } }))
}

fn patch(settings: Value) -> Change<'static> {
    (Method::PATCH, BUCKET, settings)
}

fn post(path: &str) -> Change<'_> {
    (Method::POST, path, Value::Null)
}

#[tokio::test]
async fn a_schedule_is_answered_as_its_caller_has_defined_it() {
    let ([first, second], (_service, other)) = both(&[], (schedule(1), AUDIT), schedule(2)).await;
    let show = |shown: &Value| (shown["every"].clone(), shown["job"]["body"].clone());
    assert_eq!([&first, &second].map(|answer| shown(answer, show)), [(json!("1m"), json!(1)), (json!("2m"), json!(2))]);

    let client = other.client();
    let late = send(&client, schedule(3), Some(tag(&first))).await;
    assert_eq!(late.status, 412, "it would undo what it hasn't seen: {late:?}");
    assert_eq!(send(&client, schedule(3), Some(tag(&second))).await.status, 200);
}

#[tokio::test]
async fn a_schedule_that_is_switched_is_answered_as_it_was_then() {
    let [pause, resume] = ["pause", "resume"].map(|verb| format!("{SCHEDULE}/{verb}"));
    let ([paused, resumed], (_service, other)) = both(&[schedule(1)], (post(&pause), AUDIT), post(&resume)).await;
    let show = |shown: &Value| (shown["paused"] == true, shown["next_at"].is_null());
    assert_eq!([&paused, &resumed].map(|answer| shown(answer, show)), [(true, true), (false, false)]);

    let client = other.client();
    assert_eq!(send(&client, schedule(3), Some(tag(&paused))).await.status, 412);
    assert_eq!(send(&client, schedule(3), Some(tag(&resumed))).await.status, 200);
}

#[tokio::test]
async fn settings_are_answered_as_their_caller_has_changed_them() {
    let [mine, theirs] = [json!({ "capacity": 7 }), json!({ "capacity": 8, "leak": { "rate": "5/s" } })];
    let (first, second) = (patch(mine.clone()), patch(theirs.clone()));
    let ([first, second], (_service, other)) = both(&[], (first, AUDIT), second).await;
    let show = |shown: &Value| [&shown["capacity"], &shown["pace"]["target"], &shown["changes"]].map(Value::clone);
    assert_eq!(shown(&first, show), [json!(7), json!("10/s"), mine]);
    assert_eq!(shown(&second, show), [json!(8), json!("5/s"), theirs]);

    let (client, more) = (other.client(), || patch(json!({ "capacity": 9 })));
    let late = send(&client, more(), Some(tag(&first))).await;
    assert_eq!(late.status, 412, "it would undo what it hasn't seen: {late:?}");
    assert_eq!(send(&client, more(), Some(tag(&second))).await.status, 200);
}

#[tokio::test]
async fn a_bucket_that_is_paused_is_answered_as_it_was_then() {
    let [pause, resume] = ["/v1/buckets/b/pause", "/v1/buckets/b/resume"].map(post);
    let ([paused, resumed], _) = both(&[], (pause, AUDIT), resume).await;
    let show = |shown: &Value| (shown["paused"] == true, shown["pace"]["reason"].clone());
    assert_eq!(
        [&paused, &resumed].map(|answer| shown(answer, show)),
        [(true, json!("paused")), (false, json!("target"))]
    );
}

#[tokio::test]
async fn settings_that_do_not_fit_each_other_are_not_set_at_once() {
    // Each of them fits what is configured, and not the other one.
    let (first, second) = (patch(json!({ "fair": { "rate": "1/s" } })), patch(json!({ "fair": { "by": "off" } })));
    let ([first, second], _) = both(&[], (first, APPLY), second).await;
    assert_eq!(second.status, 200, "{second:?}");
    assert_eq!((first.status, first.text("code").as_str()), (422, "bad_member"), "{first:?}");
}
