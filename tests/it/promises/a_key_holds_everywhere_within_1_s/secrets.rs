use super::*;

/// All keys of Redis with their values, as text.
async fn all_of_redis(service: &Service) -> String {
    let mut all = String::new();
    for key in service.redis::<Vec<String>>("KEYS *").await {
        let kind: String = service.redis(&format!("TYPE {key}")).await;
        let words = match kind.as_str() {
            // The key has expired meanwhile.
            "none" => continue,
            "string" => format!("GET {key}"),
            "hash" => format!("HGETALL {key}"),
            "zset" => format!("ZRANGE {key} 0 -1"),
            "stream" => format!("XRANGE {key} - +"),
            kind => panic!("{key} is a {kind}"),
        };
        let value: redis::Value = service.redis(&words).await;
        all += &format!("{key} {value:?}\n");
        flattened(&value, &mut all);
    }
    all
}

fn flattened(value: &redis::Value, all: &mut String) {
    match value {
        redis::Value::BulkString(bytes) => *all += &String::from_utf8_lossy(bytes),
        redis::Value::Array(members) => members.iter().for_each(|member| flattened(member, all)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_made_is_shown_once_and_is_nowhere_else() {
    let service = Service::new(&settings()).await;
    let level = ["log.level=trace"];
    let (one, other) = tokio::join!(service.role("intake", &level), service.role("intake", &level));
    let platform = one.client().with_key("platform");
    let answer = put(&platform, "shop", &json!({ "scopes": ["submit", "read"], "buckets": ["mail"] })).await;
    assert_eq!(answer.headers["cache-control"], "no-store");
    let key = answer.text("key");
    assert!(key.starts_with("dripfeed_") && key.len() == 52, "{key}");
    let client = other.client().with_key(&key);
    assert_eq!(submit(&client, "mail").await, 202);
    let hash = dripfeed_auth::format_hash(&dripfeed_auth::hash_of_key(key.as_bytes()));
    let stored = all_of_redis(&service).await;
    assert!(stored.contains(&hash), "what is stored is its hash");
    let again = put(&platform, "shop", &json!({ "scopes": ["submit", "read"], "buckets": ["mail"] })).await;
    let mut answers = vec![String::from_utf8_lossy(&again.body).into_owned()];
    for path in ["/v1/keys", "/v1/keys/shop", "/v1/audit", "/v1/key", "/v1/buckets/mail", "/metrics"] {
        let answer = get(&platform, path).await;
        assert_eq!(answer.status, 200, "{path}");
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(!body.contains(&hash), "{path}");
        answers.push(body);
    }
    assert_eq!(delete(&platform, "shop").await.status, 204);
    until("it is refused", async || submit(&client, "mail").await == 401).await;
    let logs = [one.whole_log().text(), other.whole_log().text()];
    let secret = key.trim_start_matches("dripfeed_");
    for text in answers.iter().chain(&logs).chain([&stored, &all_of_redis(&service).await]) {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(logs[0].contains("audit"), "who did it is logged");
}

#[tokio::test]
async fn the_audit_trail_names_who_did_what() {
    let service = Service::new(&settings()).await;
    let intake = service.intake().await;
    let (platform, team_a) = (intake.client().with_key("platform"), intake.client().with_key("team-a"));
    made(&platform, "shop", &["submit"], &["mail"]).await;
    made(&team_a, "worker", &["submit"], &["team-a-*"]).await;
    put(&platform, "shop", &json!({ "scopes": ["submit", "read"], "buckets": ["mail"], "priority": "low" })).await;
    assert_eq!(delete(&platform, "shop").await.status, 204);
    let trail = async |client: &Client| {
        let trail = get(client, "/v1/audit").await.json();
        let items = trail["items"].as_array().cloned().unwrap_or_default();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        items
            .iter()
            .map(|entry| ["key", "action", "detail"].map(|name| text(entry, name)).join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        trail(&platform).await,
        [
            "platform delete shop",
            "platform change shop: changed: scopes, priority",
            "team-a create worker: scopes: submit; buckets: team-a-*",
            "platform create shop: scopes: submit; buckets: mail",
        ]
    );
    assert_eq!(trail(&team_a).await, ["team-a create worker: scopes: submit; buckets: team-a-*"]);
    assert_eq!(get(&team_a, "/v1/keys/worker").await.text("changed_by"), "team-a");
}
