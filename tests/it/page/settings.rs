use dripfeed_bucket::RUN_TIME_SETTINGS;
use dripfeed_tests::service::Service;
use serde_json::{Value, json};

use super::reader::Reader;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\nleak = { rate = \"3/s\" }\n";

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// What a page shows of a value, without its markup.
fn shown(page: &str) -> String {
    page.replace("&quot;", "\"").split_whitespace().collect()
}

#[tokio::test]
async fn each_run_time_setting_is_previewed_from_what_to_what_applied_and_restored() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let page = reader.text("/buckets/b").await;
    let token = reader.token("/buckets/b").await;
    let settings = reader.get("/v1/buckets/b/settings").await.json();
    for setting in &RUN_TIME_SETTINGS {
        let name = setting.name;
        assert!(page.contains(&format!("name=\"{name}\"")), "{name}: {page}");
        let fields = format!("{token}{name}={}", escaped(setting.example));
        let preview = reader.post("/buckets/b/change/preview", &fields).await;
        let preview = String::from_utf8(preview.body.to_vec()).expect("text");
        let now = &settings["items"].as_array().expect("a list").iter().find(|item| item["name"] == name);
        let now = match &now.expect("the setting")["value"] {
            Value::Null => "nolimit".to_owned(),
            Value::String(text) => text.clone(),
            empty if *empty == json!([]) || *empty == json!({}) => "none".to_owned(),
            other => other.to_string(),
        };
        assert!(shown(&preview).contains(&format!("{name}</code></th><td>{now}</td><td><strong>")), "{preview}");
        assert!(preview.contains("Apply") && preview.contains(&format!("name=\"{name}\"")), "{preview}");
        let applied = reader.post("/buckets/b/change", &fields).await;
        assert_eq!(applied.status, 303, "{name}: {applied:?}");
        let page = reader.text("/buckets/b").await;
        assert!(page.contains(&format!("Restore {name}</button>")), "{name}: {page}");
        reader.post("/buckets/b/change", &format!("{token}restore={name}")).await;
    }
    assert_eq!(reader.get("/v1/buckets/b").await.json()["changes"], json!({}));
}

#[tokio::test]
async fn what_would_change_nothing_or_cannot_be_read_is_said_before_anything_changes() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let same = reader.text("/buckets/b/change?leak.rate=3/s&capacity=").await;
    assert!(same.contains("Nothing would change") && !same.contains("Apply"), "{same}");
    let token = reader.token("/buckets/b").await;
    for path in ["/buckets/b/change/preview", "/buckets/b/change"] {
        let refused = reader.post(path, &format!("{token}fair.weights={}", escaped("{\"shop\": }"))).await;
        let text = String::from_utf8_lossy(&refused.body);
        assert!(refused.status == 422 && text.contains("Fair.weights: not JSON"), "{text}");
    }
}
