//! No page and no stream shows payloads, headers or answers to who may not inspect them.

use dripfeed_bucket::{Bucket, FailedCall, Feedback, Settlement};
use dripfeed_job::outcome::AnswerBody;
use dripfeed_tests::buckets::{self, join, take_one};
use dripfeed_tests::client::Client;
use dripfeed_tests::service::Service;
use http::Method;

use super::reader::{Reader, key};
use super::routes::{pages, streams};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

async fn submit(client: &Client) -> String {
    let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("dripfeed-path", "/secret");
    let request = request.header("dripfeed-forward-x-token", "secret");
    client.call(request, r#"{"card":"secret"}"#).await.expect("an answer").text("id")
}

/// The job that waits is tried again and dies.
async fn die(service: &Service) {
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "east").await;
    let answer = AnswerBody::new(Some("text/plain".to_owned()), b"a secret answer", false);
    let failed = FailedCall { status: Some(500), reason: "no luck".to_owned(), answer: Some(answer.clone()) };
    let retry = Settlement::Retry { after: std::time::Duration::ZERO };
    let saw = Feedback { failed: Some(failed), ..Feedback::default() };
    replica.settle_with(take_one(&replica).await.claim, retry, saw).await.expect("Redis answers");
    let bury = Settlement::Bury { reason: "no luck".to_owned(), status: Some(500), answer: Some(answer), called: true };
    replica.settle_with(take_one(&replica).await.claim, bury, Feedback::default()).await.expect("Redis answers");
    replica.leave().await.expect("Redis answers");
}

#[tokio::test]
async fn without_inspect_no_page_and_no_stream_shows_a_payload() {
    let all_but_inspect = key("operator", &["submit", "read", "operate", "define", "keys"]);
    let inspector = key("inspector", &["read", "inspect"]);
    let service = Service::new(&format!("{BUCKET}{all_but_inspect}{inspector}")).await;
    let intake = service.intake().await;
    let client = intake.client().with_key("operator");
    let dead = submit(&client).await;
    die(&service).await;
    let waiting = submit(&client).await;
    let schedule = r#"{"every":"1h","job":{"body":"secret","options":{"path":"/secret","forward":{"x":"secret"}}}}"#;
    let request = client.request(Method::PUT, "/v1/buckets/b/schedules/nightly");
    assert_eq!(client.call(request, schedule).await.expect("an answer").status, 200);

    let mut reader = Reader::of(&intake);
    reader.sign_in("operator").await;
    for path in [&dead, &waiting].into_iter().flat_map(|id| pages(id)) {
        let page = reader.get(&path).await;
        let text = format!("{:?} {}", page.headers, String::from_utf8_lossy(&page.body));
        assert!(!text.contains("secret") && !text.contains("c2VjcmV0"), "{path}: {text}");
    }
    for path in streams(&waiting) {
        let event = reader.event(&path).await;
        assert!(!event.contains("secret"), "{path}: {event}");
    }
    reader.sign_in("inspector").await;
    for path in [format!("jobs/{waiting}"), format!("jobs/{dead}"), format!("dead/{dead}"), "dead/export".to_owned()] {
        let page = reader.text(&format!("/buckets/b/{path}")).await;
        assert!(page.contains("secret"), "{path}: {page}");
    }
}
