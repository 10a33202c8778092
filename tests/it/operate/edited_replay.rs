use dripfeed_bucket::Bucket;
use dripfeed_tests::buckets::{self, buried, join, settle, take_one};
use dripfeed_tests::service::Service;
use http::Method;
use serde_json::{Value, json};

const BUCKETS: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n\
                       [buckets.l]\nkind = \"list\"\nupstream = \"http://127.0.0.1:1/\"\n";

/// The job that waits in the bucket dies.
async fn die(service: &Service, settings: dripfeed_bucket::BucketSettings) {
    let bucket = Bucket::new(service.store().clone(), settings);
    let replica = join(&bucket, "east").await;
    let claimed = take_one(&replica).await;
    settle(&replica, claimed, buried("no luck")).await;
    replica.leave().await.expect("Redis answers");
}

#[tokio::test]
async fn a_dead_letter_is_submitted_again_with_another_payload_and_all_else_as_it_was() {
    let service = Service::new(BUCKETS).await;
    let intake = service.intake().await;
    let client = intake.client();
    let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("dripfeed-path", "/orders");
    let request = request.header("dripfeed-forward-x-shop", "north").header("content-type", "text/csv");
    let id = client.call(request, "wrong").await.expect("an answer").text("id");
    die(&service, buckets::settings("b")).await;

    let path = format!("/v1/buckets/b/dead/{id}/edit");
    let new = client.post(&path, "right").await.expect("an answer");
    assert_eq!(new.status, 202, "{new:?}");
    let new = new.text("id");
    assert_eq!(client.post(&path, "again").await.expect("an answer").status, 404);
    let job = client.get(&format!("/v1/buckets/b/jobs/{new}")).await.expect("an answer").json();
    assert_eq!((&job["state"], &job["replay_of"]), (&"waiting".into(), &id.as_str().into()), "{job}");
    let trail = client.get("/v1/buckets/b/audit").await.expect("an answer").json();
    assert_eq!(trail["items"][0]["action"], "edit", "{trail}");

    // What is handed out is whole: its checksum is of the new payload.
    die(&service, buckets::settings("b")).await;
    let letter = client.get(&format!("/v1/buckets/b/dead/{new}")).await.expect("an answer").json();
    assert_eq!(letter["outcome"]["reason"], "no luck", "{letter}");
    let kept = ["body", "content_type", "path", "replay_of"].map(|member| letter[member].as_str().expect("text"));
    assert_eq!(kept, ["right", "text/csv", "/orders", id.as_str()]);
    assert_eq!(letter["headers"], json!([{"name": "x-shop", "value": "north"}]));
}

#[tokio::test]
async fn an_edited_payload_has_a_separate_content_encoding() {
    let service = Service::new(BUCKETS).await;
    let intake = service.intake().await;
    let client = intake.client();
    let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("content-encoding", "gzip");
    let mut id = client.call(request, "wrong").await.expect("an answer").text("id");
    die(&service, buckets::settings("b")).await;
    // Plain, and packed again.
    for encoding in [None, Some("br")] {
        let edit = client.request(Method::POST, &format!("/v1/buckets/b/dead/{id}/edit"));
        let edit = encoding.into_iter().fold(edit, |edit, encoding| edit.header("content-encoding", encoding));
        id = client.call(edit, "right").await.expect("an answer").text("id");
        die(&service, buckets::settings("b")).await;
        let letter = client.get(&format!("/v1/buckets/b/dead/{id}")).await.expect("an answer").json();
        let header = |value| json!({"name": "content-encoding", "value": value});
        assert_eq!(letter["headers"], encoding.into_iter().map(header).collect::<Value>(), "{letter}");
    }
    let edit = client.request(Method::POST, &format!("/v1/buckets/b/dead/{id}/edit")).header("dripfeed-delay", "1s");
    let refused = client.call(edit, "right").await.expect("an answer");
    assert_eq!((refused.status, refused.text("code").as_str()), (422, "bad_option"), "{refused:?}");
}

#[tokio::test]
async fn a_letter_of_a_list_keeps_its_payload() {
    let list = dripfeed_bucket::BucketSettings { kind: dripfeed_bucket::Kind::List, ..buckets::settings("l") };
    let service = Service::new(BUCKETS).await;
    let intake = service.intake().await;
    let client = intake.client();
    let id = client.submit("l", "wrong").await.expect("an answer").text("id");
    die(&service, list).await;
    let refused = client.post(&format!("/v1/buckets/l/dead/{id}/edit"), "right").await.expect("an answer");
    assert_eq!((refused.status, refused.text("code").as_str()), (422, "unsupported"), "{refused:?}");
    assert_eq!(client.get(&format!("/v1/buckets/l/dead/{id}")).await.expect("an answer").status, 200);
}

#[tokio::test]
async fn a_letter_or_a_payload_larger_than_the_capacity_is_refused_for_good() {
    let service = Service::new(BUCKETS).await;
    let intake = service.intake().await;
    let client = intake.client();
    let id = client.submit("b", "x".repeat(10_000)).await.expect("an answer").text("id");
    die(&service, buckets::settings("b")).await;
    let patched = client.patch("/v1/buckets/b", r#"{"capacity_bytes": "4KiB"}"#).await.expect("an answer");
    assert_eq!(patched.status, 200, "{patched:?}");
    for (what, body) in [("replay", String::new()), ("edit", "y".repeat(5000))] {
        let refused = client.post(&format!("/v1/buckets/b/dead/{id}/{what}"), body).await.expect("an answer");
        assert_eq!((refused.status, refused.text("code").as_str()), (413, "body_too_large"), "{refused:?}");
    }
    let smaller = client.post(&format!("/v1/buckets/b/dead/{id}/edit"), "small").await.expect("an answer");
    assert_eq!(smaller.status, 202, "{smaller:?}");
}
