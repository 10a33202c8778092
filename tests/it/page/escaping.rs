use dripfeed_bucket::Bucket;
use dripfeed_tests::buckets::{self, buried, join, settle, take_one};
use dripfeed_tests::service::Service;

use super::reader::{Reader, key};

const SCRIPT: &str = "<script>alert(1)</script>";
const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

/// Payload, content type, caller and reason are what others wrote.
#[tokio::test]
async fn a_stored_script_is_text_on_every_page() {
    let caller = "<script>alert(2)</script>";
    let keys = key(caller, &["submit", "read", "inspect", "operate"]);
    let service = Service::new(&format!("{BUCKET}{keys}")).await;
    let intake = service.intake().await;
    let client = intake.client().with_key(caller);
    let submit = || client.request(http::Method::POST, "/v1/buckets/b/jobs").header("content-type", SCRIPT);
    let id = client.call(submit(), SCRIPT).await.expect("an answer").text("id");
    die(&service).await;
    let waiting = client.call(submit(), SCRIPT).await.expect("an answer").text("id");
    let mut reader = Reader::of(&intake);
    reader.sign_in(&caller.replace('<', "%3C").replace('>', "%3E")).await;
    for path in [
        "/".to_owned(),
        "/buckets/b".to_owned(),
        "/buckets/b/jobs".to_owned(),
        "/buckets/b/jobs?state=dead".to_owned(),
        format!("/buckets/b/jobs/{id}"),
        format!("/buckets/b/jobs/{waiting}"),
        "/buckets/b/jobs?caller=%3Cscript%3Ealert(2)%3C/script%3E".to_owned(),
        "/buckets/b/dead".to_owned(),
        format!("/buckets/b/dead?reason={}", "%3Cscript%3E"),
        format!("/buckets/b/dead/{id}"),
        "/buckets/b/change?capacity=%3Cscript%3Ealert(3)%3C/script%3E".to_owned(),
    ] {
        let page = reader.text(&path).await;
        assert!(!page.contains("<script>"), "{path}: {page}");
        assert!(page.contains("&lt;script&gt;"), "{path} shows none of it: {page}");
    }
}

/// The job that waits dies of a script.
async fn die(service: &Service) {
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "east").await;
    let claimed = take_one(&replica).await;
    settle(&replica, claimed, buried(SCRIPT)).await;
    replica.leave().await.expect("Redis answers");
}
