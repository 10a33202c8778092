use dripfeed_bucket::RUN_TIME_SETTINGS;
use dripfeed_job::size;
use dripfeed_tests::service::{Service, until};
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
            bytes if size::parse(setting.example).is_ok() => size::show(bytes.as_u64().expect("bytes")),
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
async fn an_invalid_or_empty_change_is_reported_in_the_preview() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let same = reader.text("/buckets/b/change?leak.rate=3/s&capacity=").await;
    assert!(same.contains("Nothing would change") && !same.contains("Apply"), "{same}");
    let token = reader.token("/buckets/b").await;
    for path in ["/buckets/b/change/preview", "/buckets/b/change"] {
        let refused = reader.post(path, &format!("{token}fair.weights={}", escaped("{\"shop\": }"))).await;
        let text = String::from_utf8_lossy(&refused.body);
        assert!(refused.status == 422 && text.contains("fair.weights: not JSON"), "{text}");
    }
}

/// What a browser sends of the form that has this field, before anything is typed into it.
fn hidden_fields(page: &str, field: &str) -> String {
    let forms = page.split("<form").skip(1).filter_map(|rest| rest.split("</form>").next());
    let form = forms.into_iter().find(|form| form.contains(&format!("name=\"{field}\"")));
    let form = form.unwrap_or_else(|| panic!("no form with {field}: {page}"));
    let fields = form.split("type=\"hidden\" name=\"").skip(1).map(|rest| {
        let mut parts = rest.split('"');
        let (name, value) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
        format!("{}={}&", escaped(name), escaped(&value.replace("&quot;", "\"").replace("&amp;", "&")))
    });
    fields.collect()
}

/// As somebody else does it, over the API.
async fn patch(reader: &Reader, change: &Value) {
    let answer = reader.patch("/v1/buckets/b", change).await;
    assert_eq!(answer.status, 200, "{change}: {answer:?}");
}

#[tokio::test]
async fn a_form_from_before_another_change_reports_that_change_and_replaces_it_only_once_it_was_seen() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let rate = async || reader.get("/v1/buckets/b").await.json()["pace"]["target"].take();
    let post = async |path: &str, fields: String| {
        let answer = reader.post(path, &fields).await;
        (answer.status, String::from_utf8(answer.body.to_vec()).expect("text"))
    };

    let page = reader.text("/buckets/b").await;
    patch(&reader, &json!({ "leak": { "rate": "20/s" } })).await;
    let typed = hidden_fields(&page, "leak.rate") + "leak.rate=5/s&";
    // It isn't applied, even by a page that shows no preview.
    let (status, refused) = post("/buckets/b/change", typed.clone()).await;
    assert_eq!((status, rate().await), (409, "20/s".into()), "{refused}");
    let (_, preview) = post("/buckets/b/change/preview", typed).await;
    for text in [&refused, &preview] {
        let row = "leak.rate</code></th><td>3/s</td><td>20/s</td><td><strong>5/s";
        assert!(text.contains("Changed meanwhile") && shown(text).contains(row), "{text}");
    }
    patch(&reader, &json!({ "leak": { "rate": "30/s" } })).await;
    let (status, again) = post("/buckets/b/change", hidden_fields(&preview, "leak.rate")).await;
    assert_eq!((status, rate().await), (409, "30/s".into()), "{again}");
    assert_eq!(post("/buckets/b/change", hidden_fields(&again, "leak.rate")).await.0, 303);
    assert_eq!(rate().await, "5/s");

    // What was typed into a document can be edited, beside what it was changed to.
    patch(&reader, &json!({ "fair": { "flows": { "shop": { "rate": "9/s" } } } })).await;
    let typed = hidden_fields(&page, "fair.flows") + "fair.flows=" + &escaped("{\"mail\": {\"rate\": \"1/s\"}}");
    let (_, preview) = post("/buckets/b/change/preview", typed).await;
    assert!(preview.contains("Changed meanwhile") && shown(&preview).contains("\"shop\":{\"rate\":\"9/s\"}"));
    let editor = preview.split("<textarea name=\"fair.flows\"").nth(1).expect("an editor").split("</textarea>").next();
    assert!(editor.is_some_and(|text| text.contains("mail") && !text.contains("shop")), "{preview}");
}

#[tokio::test]
async fn a_setting_is_restored_only_from_the_value_that_the_page_showed() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    patch(&reader, &json!({ "leak": { "rate": "5/s" } })).await;
    let page = reader.text("/buckets/b").await;
    patch(&reader, &json!({ "leak": { "rate": "8/s" } })).await;
    let stale = reader.post("/buckets/b/change", &hidden_fields(&page, "restore")).await;
    let state = reader.get("/v1/buckets/b").await.json();
    assert_eq!((stale.status, &state["pace"]["target"]), (409, &"8/s".into()));
    let text = String::from_utf8(stale.body.to_vec()).expect("text");
    assert!(shown(&text).contains("<td>5/s</td><td>8/s</td><td><strong>3/s"), "{text}");
    assert_eq!(reader.post("/buckets/b/change", &hidden_fields(&text, "restore")).await.status, 303);
    assert_eq!(reader.get("/v1/buckets/b").await.json()["changes"], json!({}));
}

#[tokio::test]
async fn a_change_of_another_setting_is_no_conflict() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let page = reader.text("/buckets/b").await;
    patch(&reader, &json!({ "capacity": 7 })).await;
    let typed = hidden_fields(&page, "leak.rate") + "leak.rate=5/s&capacity=";
    let preview = reader.post("/buckets/b/change/preview", &typed).await;
    let preview = String::from_utf8(preview.body.to_vec()).expect("text");
    assert!(!preview.contains("meanwhile"), "{preview}");
    assert_eq!(reader.post("/buckets/b/change", &hidden_fields(&preview, "leak.rate")).await.status, 303);
    let state = reader.get("/v1/buckets/b").await.json();
    assert_eq!((&state["capacity"], &state["pace"]["target"]), (&7.into(), &"5/s".into()));
}

#[tokio::test]
async fn a_page_that_is_open_says_when_its_settings_are_old() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let page = reader.text("/buckets/b").await;
    let path = page.split("data-live=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("events");
    let says_so = async || reader.event(path).await.contains("Settings were changed after this page was loaded");
    assert!(!says_so().await);
    patch(&reader, &json!({ "leak": { "rate": "5/s" } })).await;
    until("a frame has the change", says_so).await;
    patch(&reader, &json!({ "leak": { "rate": null } })).await;
    until("a frame has the way back", async || !says_so().await).await;
}
