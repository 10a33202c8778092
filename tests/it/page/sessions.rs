use dripfeed_tests::service::Service;

use super::reader::{Reader, key};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test]
async fn a_session_holds_at_every_intake_and_ends_with_its_key() {
    let keys = key("operator", &["submit", "read", "operate"]);
    let service = Service::new(&format!("{BUCKET}{keys}")).await;
    let (one, other) = (service.intake().await, service.intake().await);
    let mut reader = Reader::of(&one);
    for path in ["/", "/buckets/b", "/redis"] {
        let answer = reader.get(path).await;
        assert_eq!(
            (answer.status, answer.headers["location"].as_bytes().starts_with(b"/sign-in")),
            (303, true),
            "{path}"
        );
    }
    assert_eq!(reader.event("/live/buckets").await, "event: signed-out\ndata:\n\n");
    // As scripts ask, which would take the page of the sign-in for an answer.
    for answer in
        [reader.post("/buckets/b/pause", "").await, one.client().get("/buckets/b/history").await.expect("one")]
    {
        assert_eq!((answer.status, answer.headers.get("location")), (401, None));
    }
    let form = [("origin", one.url()), ("accept", "text/html".to_owned())];
    let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
    let submitted = reader.post_from("/buckets/b/pause", "", &form).await;
    assert_eq!((submitted.status, submitted.headers["location"].to_str().ok()), (303, Some("/sign-in")));
    let refused = reader.post("/sign-in", "key=wrong").await;
    assert_eq!((refused.status, refused.headers.get("set-cookie")), (401, None));
    reader.sign_in("operator").await;
    assert!(reader.text("/").await.contains("/buckets/b"));
    let elsewhere = reader.at(&other);
    assert!(elsewhere.text("/buckets/b").await.contains("operator"));
    // A cookie is for the page alone: another site that makes a browser send it reaches no API.
    assert_eq!(elsewhere.get("/v1/buckets").await.status, 401);

    service.configure(&format!("{BUCKET}{}", key("successor", &["read"])));
    other.hang_up();
    dripfeed_tests::service::until("the key is revoked", async || elsewhere.get("/").await.status == 303).await;
}

#[tokio::test]
async fn without_keys_nobody_signs_in() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    assert_eq!(reader.get("/sign-in").await.headers["location"], "/");
    assert!(!reader.text("/").await.contains("Sign out"));
}

#[tokio::test]
async fn a_sign_in_leads_to_our_own_pages_alone() {
    let service = Service::new(&format!("{BUCKET}{}", key("reader", &["read"]))).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    for (next, path) in [
        ("%2Fbuckets%2Fb", "/buckets/b"),
        ("%2F%2Fevil.example", "/"),
        ("https%3A%2F%2Fevil.example", "/"),
        ("%2F%5Cevil.example", "/"),
        // Browsers leave out tabs and line breaks.
        ("%2F%09%2Fevil.example", "/"),
        ("%2F%0A%2Fevil.example", "/"),
        ("", "/"),
    ] {
        let answer = reader.post("/sign-in", &format!("key=reader&next={next}")).await;
        assert_eq!((answer.status, answer.headers["location"].to_str().ok()), (303, Some(path)), "{next}");
    }
}

#[tokio::test]
async fn a_session_ends_with_a_key_that_was_made_at_run_time() {
    let keys = key("platform", &["read", "keys"]);
    let service = Service::new(&format!("{BUCKET}{keys}")).await;
    let (one, other) = (service.intake().await, service.intake().await);
    let client = one.client().with_key("platform");
    let request = client.request(http::Method::PUT, "/v1/keys/guest");
    let made = client.call(request, r#"{"scopes":["read"],"buckets":["b"]}"#).await.expect("an answer");
    let mut reader = Reader::of(&other);
    reader.sign_in(&made.text("key")).await;
    assert!(reader.text("/buckets/b").await.contains("guest"));
    assert!(reader.event("/live/buckets").await.contains("event: frame"));
    let live = reader.get("/live/buckets");
    let revoked =
        async { client.call(client.request(http::Method::DELETE, "/v1/keys/guest"), "").await.expect("an answer") };
    // What the page follows ends, and with it this answer.
    let (followed, revoked) = tokio::join!(live, revoked);
    assert_eq!((followed.status, revoked.status), (200, 204));
    assert_eq!(reader.get("/").await.status, 303);
}
