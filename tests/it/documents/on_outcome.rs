//! The README's completion webhook, as written.

use dripfeed_tests::service::{Service, until};
use dripfeed_tests::sources::from_the_root;
use dripfeed_tests::upstream::Upstream;
use serde_json::Value;
use tokio::process::Command;

/// The blocks of code of that section.
fn blocks() -> Vec<String> {
    let readme = std::fs::read_to_string(from_the_root("README.md")).expect("the README");
    let (_, section) = readme.split_once("\n## Completion webhooks\n").expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let mut blocks = vec![String::new()];
    let mut is_code = false;
    for line in section.lines() {
        let code = line.strip_prefix("    ").or((is_code && line.is_empty()).then_some(""));
        if is_code && code.is_none() {
            blocks.push(String::new());
        }
        is_code = code.is_some();
        if let Some(code) = code {
            *blocks.last_mut().expect("one") += &format!("{code}\n");
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The names of all members, in their order.
fn members(json: &Value) -> Vec<String> {
    let Value::Object(object) = json else { return Vec::new() };
    object.iter().flat_map(|(name, value)| [vec![name.clone()], members(value)].concat()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_readmes_webhook_gets_what_the_readme_shows() {
    let [configuration, calls, shown] = &blocks()[..] else { panic!("three blocks") };
    let (work, webhook) = (Upstream::willing().await, Upstream::willing().await);
    let configuration = configuration
        .replace("https://api.partner.example/v2/orders", &work.url())
        .replace("https://shop.example/hooks/orders", &webhook.url());
    let service = Service::new(&configuration).await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    for call in calls.lines().filter(|call| !call.is_empty()) {
        let call = call.replace("http://127.0.0.1:7180", &intake.url()) + " --fail --silent --show-error";
        let ended = Command::new("bash").args(["-c", &call]).output().await.expect("bash");
        assert!(ended.status.success(), "{ended:?}");
    }
    service.drained("partner").await;
    webhook.has_got(1).await;
    until("all are handed over", async || service.redis::<u64>("XLEN dripfeed:{partner}:outbox").await == 0).await;
    service.drained("done").await;

    let calls = webhook.calls();
    assert_eq!(calls.len(), 1, "the other job chose none: {calls:?}");
    let body: Value = serde_json::from_str(calls[0].text()).expect("JSON");
    let shown: Value = serde_json::from_str(shown).expect("JSON");
    let without_type = |names: Vec<String>| names.into_iter().filter(|name| name != "content_type").collect::<Vec<_>>();
    assert_eq!(without_type(members(&body)), without_type(members(&shown)), "{body}");
    let outcomes = intake.client().get("/v1/buckets/partner/outcomes").await.expect("an answer").json();
    let listed = outcomes["items"].as_array().expect("a list").iter().find(|job| job["id"] == body["id"]);
    assert_eq!(Some(&body), listed, "as the list of outcomes shows it");
    let key = format!("partner/{}/delivered", body["id"].as_str().expect("an id"));
    let named = format!("/v1/buckets/done/jobs?idempotency_key={}", key.replace('/', "%2F"));
    let named = intake.client().get(&named).await.expect("an answer").json();
    assert_eq!(named["items"][0]["id"], calls[0].job.as_str(), "{named}");
}
