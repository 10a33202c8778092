use super::*;

/// A key of the settings whose secret is its id.
fn key(id: &str, scopes: &str, buckets: &str) -> String {
    use sha2::Digest as _;
    let hash: String = sha2::Sha256::digest(id).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{hash}\"\nscopes = [{scopes}]\nbuckets = [\"{buckets}\"]\n")
}

fn keys() -> String {
    key("operator", r#""submit", "read", "inspect", "operate""#, "*")
        + &key("team-a", r#""define", "submit", "read""#, "team-a-*")
        + &key("platform", r#""define", "read""#, "*")
}

async fn nothing_is_stored(service: &Service) -> bool {
    service.redis::<Vec<String>>("KEYS *{@buckets}*").await.is_empty()
}

async fn intake_with(define: &str) -> (Service, Process) {
    let service =
        Service::new(&format!("{}{define}[buckets.file]\nupstream = \"http://127.0.0.1:1/\"\n", keys())).await;
    let intake = service.intake().await;
    (service, intake)
}

#[tokio::test]
async fn nobody_defines_without_the_scope_or_beyond_a_keys_names() {
    let (service, intake) = intake_with("[define]\nupstreams = [\"https://*.partner.example\"]\n").await;
    let definition = json!({ "upstream": "https://api.partner.example/" });
    for (key, bucket, status) in [
        ("operator", "team-a-1", 403),
        ("team-a", "team-b-1", 403),
        ("team-a", "file", 403),
        ("nobody", "team-a-1", 401),
    ] {
        let answer = put(&intake.client().with_key(key), bucket, &definition).await;
        assert_eq!(answer.status, status, "{key} {bucket}: {answer:?}");
        let answer = delete(&intake.client().with_key(key), bucket).await;
        assert_eq!(answer.status, status, "{key} {bucket}: {answer:?}");
    }
    let configured = put(&intake.client().with_key("platform"), "file", &definition).await;
    assert_eq!((configured.status, configured.text("code").as_str()), (409, "configured_bucket"));
    assert_eq!(delete(&intake.client().with_key("platform"), "file").await.status, 409);
    assert!(nothing_is_stored(&service).await);

    let client = intake.client().with_key("team-a");
    let created = put(&client, "team-a-1", &definition).await;
    assert_eq!((created.status, &created.json()["definition"]), (201, &definition), "{created:?}");
    assert_eq!(created.text("defined_by"), "team-a");
    assert_eq!(submit(&client, "team-a-1").await.status, 202);
    let seen = get(&intake.client().with_key("operator"), "/v1/buckets/team-a-1").await;
    assert_eq!(seen.json()["definition"], Value::Null, "the operator's key lacks the scope");
}

#[tokio::test]
async fn only_allowed_upstreams_at_public_addresses_are_called() {
    let upstreams = r#"["https://*.partner.example", "http://127.0.0.1:9000", "http://localhost:9000"]"#;
    let (service, intake) = intake_with(&format!("[define]\nupstreams = {upstreams}\n")).await;
    let client = intake.client().with_key("platform");
    for (definition, place) in [
        (json!({ "upstream": "https://partner.example/" }), "upstream"),
        (json!({ "upstream": "https://evil.example/" }), "upstream"),
        (json!({ "upstream": "http://api.partner.example/" }), "upstream"),
        (json!({ "upstream": "https://a.partner.example:8443/" }), "upstream"),
        (json!({ "upstream": "http://127.0.0.1:9000/" }), "upstream"),
        (json!({ "upstream": "http://localhost:9000/" }), "upstream"),
        (json!({ "upstream": "https://a@a.partner.example/" }), "upstream"),
        (json!({}), "upstream"),
        (json!({ "upstream": "https://a.partner.example/", "allow_private": true }), "allow_private"),
        (json!({ "upstream": "https://a.partner.example/", "headers": { "Authorization": "x" } }), "headers"),
        (json!({ "upstream": "https://a.partner.example/", "headers_file": "/etc/passwd" }), "headers_file"),
        (json!({ "upstream": "https://a.partner.example/", "upstream_ca_file": "x" }), "upstream_ca_file"),
        (json!({ "upstream": "https://a.partner.example/", "signing_secret": "whsec_eA==" }), "signing_secret"),
        (json!({ "upstream": "https://a.partner.example/", "key": "dripfeed:{other}:jobs" }), "key"),
        (
            json!({ "upstream": "https://a.partner.example/", "on_outcome": { "bucket": "b", "outcomes": ["dead"] } }),
            "on_outcome",
        ),
        (json!({ "upstream": "https://a.partner.example/", "leak": { "rate": "fast" } }), "leak.rate"),
        (json!({ "upstream": "https://a.partner.example/", "nonsense": 1 }), "nonsense"),
        (json!({ "upstream": "https://a.partner.example/", "capacity": 0 }), "capacity"),
    ] {
        let answer = put(&client, "b", &definition).await;
        assert_eq!((answer.status, answer.text("code").as_str()), (422, "bad_member"), "{definition}: {answer:?}");
        assert_eq!(answer.text("member"), place, "{answer:?}");
    }
    assert!(nothing_is_stored(&service).await);
}

#[tokio::test]
async fn a_refusal_names_the_member_and_what_its_caller_can_change() {
    let upstreams = "[define]\nupstreams = [\"https://a.example\", \"http://127.0.0.1:9000\"]\n";
    let (_service, intake) = intake_with(upstreams).await;
    let client = intake.client().with_key("platform");
    let limits = json!({ "upstream": "https://a.example/", "limits": [{ "id": "x" }] });
    let headers = json!({ "upstream": "https://a.example/", "headers": { "Connection": "close" } });
    for (definition, member, begins) in [
        (limits, "limits[0]", "limits[0]: "),
        (headers, "headers", "headers: "),
        (json!({ "upstream": "http://127.0.0.1:9000/" }), "upstream", "upstream: the host 127.0.0.1 has a private"),
    ] {
        let answer = put(&client, "b", &definition).await;
        let (found, detail) = (answer.text("member"), answer.text("detail"));
        assert_eq!((answer.status, found.as_str()), (422, member), "{answer:?}");
        assert!(detail.starts_with(begins), "{detail}");
        assert!(!detail.contains("headers: headers"), "{detail}");
        let is_of_a_file = detail.contains("in a configuration file");
        assert_eq!(is_of_a_file, detail.contains("allow_private"), "a definition can't set it: {detail}");
    }
}

#[tokio::test]
async fn a_bucket_is_only_created_where_its_caller_wants_that() {
    let (_service, intake) = intake_with("[define]\nupstreams = [\"https://a.example\"]\n").await;
    let client = intake.client().with_key("platform");
    let put = async |tag: &str, capacity: u64| {
        let definition = json!({ "upstream": "https://a.example/", "capacity": capacity });
        let request = client.request(Method::PUT, "/v1/buckets/b").header("if-none-match", tag);
        client.call(request, definition.to_string()).await.expect("an answer")
    };
    let created = put("*", 1).await;
    assert_eq!(created.status, 201, "{created:?}");
    let second = put("*", 2).await;
    assert_eq!((second.status, second.text("code").as_str()), (412, "precondition_failed"), "{second:?}");
    assert!(second.text("detail").contains("If-None-Match"), "{second:?}");
    assert_eq!(put(created.headers["etag"].to_str().expect("a tag"), 3).await.status, 412);
    assert_eq!(get(&client, "/v1/buckets/b").await.number("capacity"), 1);
    assert_eq!(put("\"7\"", 4).await.status, 200, "it isn't that version");
}

#[tokio::test]
async fn where_no_upstream_is_allowed_nobody_defines() {
    let (service, intake) = intake_with("").await;
    let definition = json!({ "upstream": "https://api.partner.example/" });
    let answer = put(&intake.client().with_key("platform"), "b", &definition).await;
    assert_eq!((answer.status, answer.text("code").as_str()), (403, "forbidden"), "{answer:?}");
    assert!(nothing_is_stored(&service).await);
}

#[tokio::test]
async fn a_change_is_made_to_the_version_that_its_caller_has_seen() {
    let (_service, intake) = intake_with("[define]\nupstreams = [\"https://a.example\"]\n").await;
    let client = intake.client().with_key("platform");
    let if_match = async |method, tag: &str, capacity: u64| {
        let definition = json!({ "upstream": "https://a.example/", "capacity": capacity });
        let request = client.request(method, "/v1/buckets/b").header("if-match", tag);
        client.call(request, definition.to_string()).await.expect("an answer")
    };
    assert_eq!(if_match(Method::PUT, "*", 1).await.status, 412, "nothing is there");
    let created = put(&client, "b", &json!({ "upstream": "https://a.example/" })).await;
    let tag = created.headers["etag"].to_str().expect("a tag").to_owned();
    let changed = if_match(Method::PUT, &tag, 7).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let late = if_match(Method::PUT, &tag, 8).await;
    assert_eq!((late.status, late.text("code").as_str()), (412, "precondition_failed"), "{late:?}");
    assert_eq!(if_match(Method::DELETE, &tag, 0).await.status, 412);
    let seen = get(&client, "/v1/buckets/b").await;
    assert_eq!((seen.number("capacity"), &seen.headers["etag"]), (7, &changed.headers["etag"]));

    // A refusal contains the whole ETag, also after a change at run time, which this PUT doesn't undo.
    let operator = intake.client().with_key("operator");
    assert_eq!(operator.post("/v1/buckets/b/pause", "").await.expect("an answer").status, 200);
    let current = get(&client, "/v1/buckets/b").await.headers["etag"].to_str().expect("a tag").to_owned();
    let patch = async |tag: &str| {
        let request = operator.request(Method::PATCH, "/v1/buckets/b").header("if-match", tag);
        operator.call(request, json!({ "max_share": "25%" }).to_string()).await.expect("an answer")
    };
    for late in [if_match(Method::PUT, &tag, 8).await, if_match(Method::DELETE, &tag, 0).await, patch(&tag).await] {
        assert!(late.text("detail").ends_with(&format!("send If-Match: {current}")), "{late:?}");
    }
    let named = patch(&current).await;
    assert_eq!(named.status, 200, "{named:?}");
    assert_eq!(if_match(Method::PUT, &current, 8).await.status, 200, "only the definition must match");
    let seen = get(&client, "/v1/buckets/b").await;
    assert_eq!(if_match(Method::DELETE, seen.headers["etag"].to_str().expect("a tag"), 0).await.status, 204);
}
