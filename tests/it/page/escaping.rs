use dripfeed_bucket::{Bucket, FailedCall, Feedback, Settlement};
use dripfeed_job::outcome::AnswerBody;
use dripfeed_tests::buckets::{self, join, take_one};
use dripfeed_tests::client::Client;
use dripfeed_tests::service::Service;
use http::Method;

use super::reader::{Reader, key};
use super::routes::{pages, streams};

const SCRIPT: &str = "<script>alert(1)</script>";
/// The caller whose key this is has it as its id, too.
const CALLER: &str = "<script>alert(2)</script>";
/// Messages of limits contain a script, too.
const BUCKET: &str = r#"
[buckets.b]
upstream = "http://127.0.0.1:1/"
fair.by = "group"
[[buckets.b.limits]]
id = "each"
key = ["caller"]
message = "<script>alert(3)</script>"
tiers = [{ kind = "fixed", limit = 2, period = "1h" }]
"#;
const RULES: &str = r#"{"policies":[{"id":"each","key":["header:x-a"],"message":"<script>alert(4)</script>",
    "tiers":[{"kind":"fixed","limit":1,"period":"1h"}]}]}"#;

/// Payload, content type, headers, key, group, caller, answers, reasons, replicas, messages and filters are what others
/// wrote.
#[tokio::test]
async fn a_stored_script_is_text_on_every_page() {
    let keys = key(CALLER, &["submit", "read", "inspect", "operate"]);
    let service = Service::new(&format!("{BUCKET}{keys}")).await;
    let intake = service.intake().await;
    let client = intake.client().with_key(CALLER);
    let dead = submit(&client, 1).await.text("id");
    die(&service).await;
    let waiting = submit(&client, 2).await.text("id");
    assert_eq!(submit(&client, 3).await.status, 429);
    let call = async |method: Method, path: &str, body: &str| {
        let done = client.call(client.request(method, path), body.to_owned()).await.expect("an answer");
        assert!((200..300).contains(&done.status), "{done:?}");
    };
    call(Method::PUT, "/v1/services/s/rules", RULES).await;
    // So that the audit log has its filter.
    call(Method::POST, "/v1/buckets/b/dead/replay", &format!(r#"{{"reason":"nobody's {SCRIPT}"}}"#)).await;
    call(Method::POST, "/v1/buckets/b/jobs/cancel", &format!(r#"{{"caller":"nobody's {SCRIPT}"}}"#)).await;

    let mut reader = Reader::of(&intake);
    reader.sign_in(&encoded(CALLER)).await;
    let queries = [
        format!("/buckets/b/jobs?caller={}", encoded(CALLER)),
        format!("/buckets/b/jobs?key={}", encoded(SCRIPT)),
        format!("/buckets/b/dead?reason={}", encoded(SCRIPT)),
        format!("/buckets/b/change?capacity={}", encoded(SCRIPT)),
        format!("/{}", encoded(SCRIPT)),
    ];
    for path in [&dead, &waiting].into_iter().flat_map(|id| pages(id)).chain(queries) {
        let page = reader.get(&path).await;
        let text = String::from_utf8_lossy(&page.body);
        if page.headers.get("content-type").is_some_and(|is| is.to_str().is_ok_and(|is| is.starts_with("text/html"))) {
            assert!(!text.contains("<script>"), "{path}: {text}");
        } else if page.status == 200 {
            assert_eq!(path, "/buckets/b/dead/export");
            assert_eq!(page.headers["x-content-type-options"], "nosniff");
        }
    }
    for path in streams(&waiting) {
        let event = reader.event(&path).await;
        assert!(!event.contains("<script>"), "{path}: {event}");
    }
    let fields = format!("{}method=GET&path=%2F&caller={}", reader.token("/services").await, encoded(SCRIPT));
    let tried = reader.post("/services/s/try", &fields).await;
    let tried = String::from_utf8_lossy(&tried.body);
    assert!(tried.contains("value=\"&lt;script&gt;") && !tried.contains("<script>"), "{tried}");
    for (path, number) in [
        ("/buckets/b", 2),
        ("/buckets/b/jobs", 2),
        (&format!("/buckets/b/jobs/{waiting}"), 1),
        (&format!("/buckets/b/jobs/{dead}"), 1),
        ("/buckets/b/dead", 1),
        (&format!("/buckets/b/dead/{dead}"), 1),
        ("/audit", 1),
    ] {
        let page = reader.text(path).await;
        assert!(page.contains(&format!("&lt;script&gt;alert({number})")), "{path} shows none of it: {page}");
    }
}

fn encoded(text: &str) -> String {
    text.replace('<', "%3C").replace('>', "%3E")
}

async fn submit(client: &Client, number: u32) -> dripfeed_tests::client::ClientResponse {
    let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("content-type", SCRIPT);
    let request = request.header("dripfeed-forward-x-shop", SCRIPT).header("dripfeed-group", SCRIPT);
    let request = request.header("idempotency-key", format!("{SCRIPT}{number}"));
    client.call(request, SCRIPT).await.expect("an answer")
}

/// The job that waits is tried again and dies, of a script.
async fn die(service: &Service) {
    let settings = buckets::settings("b");
    let bucket = Bucket::new(service.store().clone(), settings);
    let replica = join(&bucket, SCRIPT).await;
    let answer = AnswerBody::new(Some(SCRIPT.to_owned()), SCRIPT.as_bytes(), false);
    let failed = FailedCall { status: Some(500), reason: SCRIPT.to_owned(), answer: Some(answer.clone()) };
    let retry = Settlement::Retry { after: std::time::Duration::ZERO };
    let saw = Feedback { failed: Some(failed), ..Feedback::default() };
    replica.settle_with(take_one(&replica).await.claim, retry, saw).await.expect("Redis answers");
    let bury = Settlement::Bury { reason: SCRIPT.to_owned(), status: Some(500), answer: Some(answer), called: true };
    replica.settle_with(take_one(&replica).await.claim, bury, Feedback::default()).await.expect("Redis answers");
}
