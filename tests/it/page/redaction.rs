use dripfeed_bucket::{Bucket, FailedCall, Feedback, Settlement};
use dripfeed_job::outcome::AnswerBody;
use dripfeed_tests::buckets::{self, join, take_one};
use dripfeed_tests::service::Service;

use super::reader::{Reader, key};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
const REDACT: &str = r#"intake.redact=["/card/number", "X-Api-Key"]"#;

#[tokio::test]
async fn no_page_shows_redacted_values() {
    let service = Service::new(BUCKET).await;
    let intake = service.role("intake", &[REDACT]).await;
    let client = intake.client();
    let request = client.request(http::Method::POST, "/v1/buckets/b/jobs").header("dripfeed-path", "/orders");
    let request = request.header("dripfeed-forward-x-api-key", "41114111").header("dripfeed-forward-x-shop", "north");
    let payload = r#"{"card":{"number":"41114111","name":"Ada"}}"#;
    let id = client.call(request, payload).await.expect("an answer").text("id");
    die(&service, payload).await;

    let reader = Reader::of(&intake);
    for (path, shown) in [
        (format!("/buckets/b/jobs/{id}"), ["Ada", "attempt 1 failed", "attempt 2 failed"]),
        (format!("/buckets/b/dead/{id}"), ["Ada", "north", "Dripfeed-Path: /orders"]),
        ("/buckets/b/dead/export".to_owned(), ["Ada", "north", "/orders"]),
        ("/buckets/b/dead".to_owned(), [id.as_str(), "no luck", "b"]),
    ] {
        let page = reader.text(&path).await;
        assert!(!page.contains("41114111"), "{path}: {page}");
        assert!(shown.iter().all(|text| page.contains(text)), "{path}: {page}");
    }
    // As far as the key may, the API shows it.
    let letter = client.get(&format!("/v1/buckets/b/dead/{id}")).await.expect("an answer");
    assert_eq!(letter.json()["headers"][0]["value"], "41114111", "{letter:?}");
}

#[tokio::test]
async fn the_payload_of_a_waiting_job_is_shown_and_redacted_to_who_may_inspect() {
    let (whole, numbers) = (key("inspect", &["submit", "read", "inspect"]), key("read", &["read"]));
    let service = Service::new(&format!("{BUCKET}{whole}{numbers}")).await;
    let intake = service.role("intake", &[REDACT]).await;
    let client = intake.client().with_key("inspect");
    let request = client.request(http::Method::POST, "/v1/buckets/b/jobs").header("dripfeed-path", "/orders");
    let request = request.header("dripfeed-forward-x-api-key", "41114111").header("dripfeed-forward-x-shop", "north");
    let id =
        client.call(request, r#"{"card":{"number":"41114111","name":"Ada"}}"#).await.expect("an answer").text("id");
    let mut reader = Reader::of(&intake);
    reader.sign_in("inspect").await;
    let page = reader.text(&format!("/buckets/b/jobs/{id}")).await;
    for shown in ["Ada", "north", "Dripfeed-Path: /orders", "--data-raw", "As a tree", "As bytes", "redacted"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("41114111"), "{page}");
    reader.sign_in("read").await;
    let page = reader.text(&format!("/buckets/b/jobs/{id}")).await;
    assert!(page.contains("this needs the scope"), "{page}");
    for hidden in ["Ada", "north", "/orders", "41114111"] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
}

#[tokio::test]
async fn a_payload_that_is_no_text_is_not_shown_where_members_are_redacted() {
    let service = Service::new(BUCKET).await;
    let intake = service.role("intake", &[REDACT]).await;
    let client = intake.client();
    // Latin-1, so that it is no UTF-8.
    let payload: Vec<u8> = [br#"{"card":{"number":"41114111"},"name":"M"#.as_slice(), b"\xfcller\"}"].concat();
    let request = client.request(http::Method::POST, "/v1/buckets/b/jobs");
    let id = client.call(request, payload.clone()).await.expect("an answer").text("id");
    let answer = AnswerBody::new(None, &payload, false);
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "east").await;
    let bury = Settlement::Bury { reason: "no luck".to_owned(), status: Some(500), answer: Some(answer), called: true };
    replica.settle_with(take_one(&replica).await.claim, bury, Feedback::default()).await.expect("Redis answers");

    let reader = Reader::of(&intake);
    for path in [format!("/buckets/b/jobs/{id}"), format!("/buckets/b/dead/{id}"), "/buckets/b/dead/export".to_owned()]
    {
        let page = reader.text(&path).await;
        // As text, as bytes, and as base64.
        for secret in ["41114111", "34 31 31 31", "QxMTE0MTEx"] {
            assert!(!page.contains(secret), "{path}: {page}");
        }
    }
    replica.leave().await.expect("Redis answers");
}

#[tokio::test]
async fn json_in_other_forms_is_not_shown_where_members_are_redacted() {
    let service = Service::new(BUCKET).await;
    let intake = service.role("intake", &[REDACT]).await;
    let (client, reader) = (intake.client(), Reader::of(&intake));
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "east").await;
    let json = r#"{"card":{"number":"41114111"}}"#;
    let in_utf_16: Vec<u8> = json.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let in_string = serde_json::to_string(json).expect("JSON");
    let xml = "<card><number>41114111</number></card>".to_owned();
    for payload in [format!("\u{1e}{json}\n"), format!("data: {json}\n\n"), format!(")]}}',\n{json}"), in_string, xml]
        .map(String::into_bytes)
        .into_iter()
        .chain([in_utf_16])
    {
        let request = client.request(http::Method::POST, "/v1/buckets/b/jobs");
        let id = client.call(request, payload.clone()).await.expect("an answer").text("id");
        let answer = Some(AnswerBody::new(None, &payload, false));
        let bury = Settlement::Bury { reason: "no luck".to_owned(), status: Some(500), answer, called: true };
        replica.settle_with(take_one(&replica).await.claim, bury, Feedback::default()).await.expect("Redis answers");
        let of_api = format!("/v1/buckets/b/dead/{id}");
        let whole = client.get(&of_api).await.expect("an answer").json().to_string();
        assert!(whole.replace("\\u0000", "").contains("41114111"), "{whole}");
        for path in [
            format!("/buckets/b/jobs/{id}"),
            format!("/buckets/b/dead/{id}"),
            "/buckets/b/dead/export".to_owned(),
            "/v1/buckets/b/dead?redacted=true".to_owned(),
        ] {
            let page = reader.text(&path).await;
            // As text and as bytes; in UTF-16 with NUL between the characters.
            for secret in ["41114111", "34 31 31 31", "34 00 31 00"] {
                assert!(!page.replace(['\0'], "").replace("\\u0000", "").contains(secret), "{path}: {page}");
            }
        }
    }
    replica.leave().await.expect("Redis answers");
}

/// The job fails with an answer that is cut, and dies of one that is whole.
async fn die(service: &Service, payload: &str) {
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "east").await;
    let cut = AnswerBody::new(None, &payload.as_bytes()[..28], true);
    let whole = AnswerBody::new(None, payload.as_bytes(), false);
    let feedback = |answer: &AnswerBody| {
        let failed = FailedCall { status: Some(500), reason: "no luck".to_owned(), answer: Some(answer.clone()) };
        Feedback { failed: Some(failed), ..Feedback::default() }
    };
    let again = Settlement::Retry { after: std::time::Duration::ZERO };
    replica.settle_with(take_one(&replica).await.claim, again, feedback(&cut)).await.expect("Redis answers");
    let bury =
        Settlement::Bury { reason: "no luck".to_owned(), status: Some(500), answer: Some(whole.clone()), called: true };
    replica.settle_with(take_one(&replica).await.claim, bury, feedback(&whole)).await.expect("Redis answers");
    replica.leave().await.expect("Redis answers");
}

#[tokio::test]
async fn fields_of_a_form_body_are_redacted() {
    let service = Service::new(BUCKET).await;
    let intake = service.role("intake", &[r#"intake.redact=["/card"]"#]).await;
    let payload = "name=Ada&card=41114111&payload=%7B%22card%22%3A41114111%7D";
    let request = intake.client().request(http::Method::POST, "/v1/buckets/b/jobs");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let id = intake.client().call(request, payload).await.expect("an answer").text("id");
    die(&service, payload).await;
    let reader = Reader::of(&intake);
    for path in [format!("/buckets/b/jobs/{id}"), format!("/buckets/b/dead/{id}"), "/buckets/b/dead/export".to_owned()]
    {
        let page = reader.text(&path).await;
        assert!(page.contains("Ada") && page.contains("redacted") && !page.contains("41114111"), "{path}: {page}");
    }
}
