use super::*;

async fn nothing_is_stored(service: &Service) -> bool {
    service.redis::<Vec<String>>("KEYS *{@keys}*").await.is_empty()
}

async fn one_intake() -> (Service, Process) {
    let service = Service::new(&settings()).await;
    let intake = service.intake().await;
    (service, intake)
}

#[tokio::test]
async fn a_key_gives_away_no_more_than_it_has() {
    let (service, intake) = one_intake().await;
    let team_a = intake.client().with_key("team-a");
    for document in [
        json!({ "scopes": ["operate"], "buckets": ["team-a-1"] }),
        json!({ "scopes": ["submit", "define"], "buckets": ["team-a-1"] }),
        json!({ "scopes": ["submit"], "buckets": ["*"] }),
        json!({ "scopes": ["submit"], "buckets": ["mail"] }),
        json!({ "scopes": ["submit"], "buckets": ["team-*"] }),
        json!({ "scopes": ["submit"], "buckets": ["team-a-*", "team-b-1"] }),
        json!({ "scopes": ["submit"], "buckets": ["team-a-*"], "services": ["*"] }),
        json!({ "scopes": ["submit"], "buckets": ["team-a-*"], "services": ["shop"] }),
        json!({ "scopes": ["submit"], "buckets": ["team-a-*"], "priority": "high" }),
    ] {
        let refused = put(&team_a, "child", &document).await;
        assert_eq!((refused.status, refused.text("code").as_str()), (403, "forbidden"), "{document}: {refused:?}");
    }
    for key in ["operator", "nobody"] {
        let document = json!({ "scopes": ["submit"], "buckets": ["mail"] });
        let status = if key == "operator" { 403 } else { 401 };
        let client = intake.client().with_key(key);
        assert_eq!(put(&client, "child", &document).await.status, status, "{key}");
        assert_eq!(delete(&client, "child").await.status, status, "{key}");
        for path in ["/v1/keys", "/v1/keys/child", "/v1/audit"] {
            assert_eq!(get(&client, path).await.status, status, "{key} {path}");
        }
    }
    assert!(nothing_is_stored(&service).await);
    let child = made(&team_a, "child", &["submit", "keys"], &["team-a-1"]).await;
    let grandchild = made(&intake.client().with_key(&child), "grandchild", &["submit"], &["team-a-1"]).await;
    assert_eq!(submit(&intake.client().with_key(&grandchild), "team-a-1").await, 202);
}

#[tokio::test]
async fn who_may_do_less_neither_sees_nor_changes_a_key() {
    let (_service, intake) = one_intake().await;
    let (platform, team_a) = (intake.client().with_key("platform"), intake.client().with_key("team-a"));
    let key = made(&platform, "shop", &["submit"], &["mail"]).await;
    made(&platform, "team-a-worker", &["submit"], &["team-a-1"]).await;
    let taken = put(&team_a, "shop", &json!({ "scopes": ["submit"], "buckets": ["team-a-1"] })).await;
    assert_eq!((taken.status, taken.text("code").as_str()), (403, "forbidden"), "{taken:?}");
    assert_eq!(delete(&team_a, "shop").await.text("code"), "unknown_key");
    assert_eq!(get(&team_a, "/v1/keys/shop").await.text("code"), "unknown_key");
    let listed = get(&team_a, "/v1/keys").await.json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["items"][0]["id"], "team-a-worker");
    // The audit log shows as little: of keys with more permissions only entries about the reader, or made by it.
    let auditor = made(&platform, "auditor", &["keys"], &["*"]).await;
    let trail = get(&intake.client().with_key(&auditor), "/v1/audit").await.json();
    assert_eq!(trail["items"].as_array().map(Vec::len), Some(1), "{trail}");
    assert!(trail["items"][0]["detail"].as_str().is_some_and(|detail| detail.starts_with("auditor:")), "{trail}");
    assert_eq!(submit(&intake.client().with_key(&key), "mail").await, 202);
}

#[tokio::test]
async fn a_key_of_the_settings_is_changed_there_alone() {
    let (service, intake) = one_intake().await;
    let platform = intake.client().with_key("platform");
    let document = json!({ "scopes": ["submit"], "buckets": ["mail"] });
    for id in ["operator", "platform"] {
        let refused = put(&platform, id, &document).await;
        assert_eq!((refused.status, refused.text("code").as_str()), (409, "configured_key"), "{refused:?}");
        assert!(refused.text("detail").contains("change it there"), "{refused:?}");
        assert_eq!(delete(&platform, id).await.text("code"), "configured_key");
    }
    let hash = dripfeed_auth::format_hash(&dripfeed_auth::hash_of_key(b"operator"));
    let same = json!({ "scopes": ["submit"], "buckets": ["mail"], "sha256": hash });
    assert_eq!(put(&platform, "other", &same).await.text("member"), "sha256");
    assert!(nothing_is_stored(&service).await);
    // A configured key takes precedence over one of the same id that was made before.
    let key = made(&platform, "shop", &["submit"], &["mail"]).await;
    let client = intake.client().with_key(&key);
    assert_eq!(submit(&client, "mail").await, 202);
    service.configure(&(configured("shop", &["read"], &["*"]) + &settings()));
    intake.hang_up();
    until("it is refused", async || submit(&client, "mail").await == 401).await;
    assert_eq!(get(&intake.client().with_key("shop"), "/v1/key").await.text("id"), "shop");
}

#[tokio::test]
async fn a_document_that_says_something_else_is_refused() {
    let (service, intake) = one_intake().await;
    let platform = intake.client().with_key("platform");
    for (document, member) in [
        (json!({ "scopes": [], "buckets": ["mail"] }), "scopes"),
        (json!({ "scopes": ["admin"], "buckets": ["mail"] }), "scopes[0]"),
        (json!({ "scopes": ["read"], "buckets": [] }), "buckets"),
        (json!({ "scopes": ["read"], "buckets": ["mail", "a b"] }), "buckets[1]"),
        (json!({ "scopes": ["read"], "buckets": ["*", "b*d*"] }), "buckets[1]"),
        (json!({ "scopes": ["read"], "buckets": ["mail"], "services": ["*a"] }), "services[0]"),
        (json!({ "scopes": ["read"], "buckets": ["mail"], "priority": "urgent" }), "priority"),
        (json!({ "scopes": ["read"], "buckets": ["mail"], "not_after": "2020-01-01T00:00:00Z" }), "not_after"),
        (json!({ "scopes": ["read"], "buckets": ["mail"], "not_after": "soon" }), "not_after"),
        (json!({ "scopes": ["read"], "buckets": ["mail"], "sha256": "the key itself" }), "sha256"),
        (json!({ "scopes": ["read"], "buckets": ["mail"], "colour": "red" }), "colour"),
    ] {
        let refused = put(&platform, "shop", &document).await;
        assert_eq!((refused.status, refused.text("code").as_str()), (422, "bad_member"), "{document}: {refused:?}");
        assert_eq!(refused.text("member"), member, "{refused:?}");
    }
    let document = json!({ "scopes": ["read"], "buckets": ["mail"] });
    for id in ["a%20b", "%2E", "%2E%2E"] {
        let refused = put(&platform, id, &document).await;
        assert_eq!((refused.status, refused.text("member").as_str()), (422, "id"), "{refused:?}");
    }
    assert_eq!(put(&platform, "shop", &json!({ "scopes": ["read"] })).await.status, 422);
    assert!(nothing_is_stored(&service).await);
    // Ids may contain any visible characters.
    assert_eq!(put(&platform, "a%2Fb%25", &document).await.text("id"), "a/b%");
    assert_eq!(get(&platform, "/v1/keys/a%2Fb%25").await.status, 200);
    assert_eq!(delete(&platform, "a%2Fb%25").await.status, 204);
}

#[tokio::test]
async fn without_configured_keys_nobody_makes_any() {
    let service = Service::new(BUCKETS).await;
    let intake = service.intake().await;
    let client = intake.client();
    let refused = put(&client, "shop", &json!({ "scopes": ["submit"], "buckets": ["mail"] })).await;
    assert_eq!((refused.status, refused.text("code").as_str()), (403, "forbidden"), "{refused:?}");
    assert!(refused.text("detail").contains("[[keys]]"), "{refused:?}");
    assert!(nothing_is_stored(&service).await);
    assert_eq!(submit(&client, "mail").await, 202, "everyone may do everything, as before");
}

#[tokio::test]
async fn a_key_is_only_created_where_its_caller_wants_that() {
    let (_service, intake) = one_intake().await;
    let client = intake.client().with_key("platform");
    let create = async |scope: &str| {
        let document = json!({ "scopes": [scope], "buckets": ["mail"] });
        let request = client.request(Method::PUT, "/v1/keys/shop").header("if-none-match", "*");
        client.call(request, document.to_string()).await.expect("an answer")
    };
    assert_eq!(create("read").await.status, 201);
    let second = create("submit").await;
    assert_eq!((second.status, second.text("code").as_str()), (412, "precondition_failed"), "{second:?}");
    assert_eq!(get(&client, "/v1/keys/shop").await.json()["scopes"], json!(["read"]));
}

#[tokio::test]
async fn a_change_is_made_to_the_version_that_its_caller_has_seen() {
    let (_service, intake) = one_intake().await;
    let client = intake.client().with_key("platform");
    let if_match = async |method, tag: &str| {
        let document = json!({ "scopes": ["read"], "buckets": ["mail"] });
        let request = client.request(method, "/v1/keys/shop").header("if-match", tag);
        client.call(request, document.to_string()).await.expect("an answer")
    };
    let tag = |answer: &ClientResponse| answer.headers["etag"].to_str().expect("a tag").to_owned();
    assert_eq!(if_match(Method::PUT, "*").await.status, 412, "nothing is there");
    let first = tag(&put(&client, "shop", &json!({ "scopes": ["submit"], "buckets": ["mail"] })).await);
    let changed = if_match(Method::PUT, &first).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    for method in [Method::PUT, Method::DELETE] {
        let late = if_match(method, &first).await;
        assert_eq!((late.status, late.text("code").as_str()), (412, "precondition_failed"), "{late:?}");
    }
    let seen = get(&client, "/v1/keys/shop").await;
    assert_eq!(tag(&seen), tag(&changed));
    assert_eq!(if_match(Method::DELETE, &tag(&seen)).await.status, 204);
}
