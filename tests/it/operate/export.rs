//! What people take out of a bucket: all of it, in both forms, and no more than their key may see.

use std::collections::BTreeSet;

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::{Answer, Upstream};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// More than a page.
const JOBS: usize = 1200;
const REDACT: &str = r#"intake.redact=["/card/number", "X-Api-Key"]"#;

/// What it wrote, and what it said besides.
async fn export(service: &Service, intake: &Process, key: &str, arguments: &[&str]) -> (String, String) {
    let mut command = service.command(&[]);
    let [what, more @ ..] = arguments else { panic!("what is exported?") };
    command.args([*what, "b", "--server", &intake.url(), "export"]).args(more).env("DRIPFEED_KEY", key);
    let ended = command.output().await.expect("the executable");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{arguments:?}: {said}");
    (String::from_utf8(ended.stdout).expect("text"), said)
}

fn documents(ndjson: &str) -> Vec<Value> {
    ndjson.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Records of text without line breaks in its values.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.split_terminator("\r\n");
    let at = lines.next().and_then(|head| head.split(',').position(|column| column == name)).expect("a column");
    lines.map(|line| line.split(',').nth(at).expect("a value").to_owned()).collect()
}

fn different(ids: impl IntoIterator<Item = String>) -> usize {
    ids.into_iter().collect::<BTreeSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_have_everything_over_all_pages_in_both_forms() {
    let upstream =
        Upstream::without_book(|call| async move { Answer::Status(if call.text() == "dies" { 404 } else { 200 }) })
            .await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 3000\n", upstream.url())).await;
    let intake = service.intake().await;
    let batch: Vec<_> =
        (0..JOBS).map(|_| serde_json::json!({"body_base64": "ZGllcw==", "content_type": "a/b"})).collect();
    let body = |items: &[Value]| serde_json::to_string(items).expect("JSON");
    for items in batch.chunks(400) {
        let client = intake.client();
        let request = client.request(http::Method::POST, "/v1/buckets/b/jobs/batch");
        let answer = client.call(request.header("content-type", "application/json"), body(items)).await;
        assert_eq!(answer.expect("an answer").status, 202);
    }
    let (jobs, said) = export(&service, &intake, "", &["jobs"]).await;
    assert_eq!(different(documents(&jobs).iter().map(|job| job["id"].to_string())), JOBS);
    assert_eq!(said.trim(), format!("{JOBS} written"));

    let processor = service.processor().await;
    service.drained("b").await;
    drop(processor);
    for (what, died) in [("dead", "/outcome/result"), ("outcomes", "/state")] {
        let (ndjson, _) = export(&service, &intake, "", &[what]).await;
        let documents = documents(&ndjson);
        assert_eq!(different(documents.iter().map(|document| document["id"].to_string())), JOBS, "{what}");
        assert!(documents.iter().all(|document| document.pointer(died) == Some(&"dead".into())), "{}", documents[0]);
        let (csv, _) = export(&service, &intake, "", &[what, "--format", "csv"]).await;
        assert_eq!(different(column(&csv, "id")), JOBS, "{what}");
        assert!(column(&csv, "status").iter().all(|status| status == "404"), "{what}");
    }
    let (csv, _) = export(&service, &intake, "", &["outcomes", "--outcome", "delivered", "--format", "csv"]).await;
    assert_eq!(csv.lines().count(), 1, "nothing but names: {csv}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_show_what_the_key_may_see_and_nothing_redacted() {
    let hash = |key: &str| Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let key =
        |id: &str, scopes: &str| format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{}\"\nscopes = [{scopes}]\n", hash(id));
    let upstream = Upstream::start(|_| async { Answer::Status(404) }).await;
    let service = Service::new(&format!(
        "{}{}[buckets.b]\nupstream = \"{}\"\n",
        key("reader", "\"read\""),
        key("support", "\"read\", \"submit\", \"inspect\""),
        upstream.url()
    ))
    .await;
    let intake = service.role("intake", &[REDACT]).await;
    let client = intake.client().with_key("support");
    let request =
        client.request(http::Method::POST, "/v1/buckets/b/jobs").header("dripfeed-forward-x-api-key", "41114111");
    let payload = r#"{"card":{"number":"41114111","name":"Ada"}}"#;
    assert_eq!(client.call(request, payload).await.expect("an answer").status, 202);
    let _processor = service.processor().await;
    service.drained("b").await;

    for form in ["ndjson", "csv"] {
        let (support, _) = export(&service, &intake, "support", &["dead", "--format", form]).await;
        assert!(support.contains("Ada") && support.contains("redacted") && !support.contains("41114111"), "{support}");
        let (reader, _) = export(&service, &intake, "reader", &["dead", "--format", form]).await;
        assert!(!reader.contains("Ada") && !reader.contains("41114111") && reader.contains("404"), "{reader}");
    }
    // As far as the key may, the API shows it.
    let letters = client.get("/v1/buckets/b/dead").await.expect("an answer");
    assert!(letters.json().to_string().contains("41114111"), "{letters:?}");
}

/// A payload must not become a formula of the spreadsheet in which somebody opens the export.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_have_bytes_as_base64_and_no_formula() {
    let upstream = Upstream::start(|_| async { Answer::Status(404) }).await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\n", upstream.url())).await;
    let intake = service.intake().await;
    for body in [&b"=HYPERLINK(1)"[..], &[0xfb, 0xff]] {
        assert_eq!(intake.client().submit("b", body).await.expect("an answer").status, 202);
    }
    let _processor = service.processor().await;
    service.drained("b").await;

    let (ndjson, _) = export(&service, &intake, "", &["dead"]).await;
    let bodies = |name: &str| -> Vec<String> {
        documents(&ndjson).iter().filter_map(|one| one[name].as_str().map(str::to_owned)).collect()
    };
    assert_eq!((bodies("body"), bodies("body_base64")), (vec!["=HYPERLINK(1)".to_owned()], vec!["+/8=".to_owned()]));
    let (csv, _) = export(&service, &intake, "", &["dead", "--format", "csv"]).await;
    let cells = |name: &str| column(&csv, name).into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>();
    assert_eq!((cells("body"), cells("body_base64")), (vec!["'=HYPERLINK(1)".to_owned()], vec!["'+/8=".to_owned()]));
}
