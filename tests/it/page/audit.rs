use dripfeed_tests::service::Service;
use http::Method;

use super::reader::{Reader, key};

const BUCKETS: &str =
    "[buckets.a]\nupstream = \"http://127.0.0.1:1/\"\n[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test]
async fn the_audit_log_of_a_deleted_bucket_says_who_deleted_it() {
    let keys = key("ops", &["read", "define"]) + &key("few", &["read"]) + "buckets = [\"a\"]\n";
    let define = "[define]\nupstreams = [\"http://127.0.0.1:1\"]\nallow_private = true\n";
    let service = Service::new(&(keys + define + BUCKETS)).await;
    let intake = service.intake().await;
    let ask = async |key: &str, method: Method, path: &str, body: &'static str| {
        let client = intake.client();
        let request = client.request(method, path).header("dripfeed-key", key);
        client.call(request, body).await.expect("an answer")
    };
    let put = ask("ops", Method::PUT, "/v1/buckets/gone", "{\"upstream\": \"http://127.0.0.1:1/\"}").await;
    assert_eq!(put.status, 201, "{put:?}");
    assert_eq!(ask("ops", Method::DELETE, "/v1/buckets/gone", "").await.status, 204);

    let trail = ask("ops", Method::GET, "/v1/buckets/gone/audit", "").await;
    assert_eq!(trail.status, 200, "{trail:?}");
    let latest = &trail.json()["items"][0];
    assert_eq!(
        (&latest["key"], &latest["action"], &latest["detail"]),
        (&"ops".into(), &"define".into(), &"deleted".into())
    );
    for (key, path, status) in [("few", "/v1/buckets/gone/audit", 403), ("ops", "/v1/buckets/never/audit", 404)] {
        assert_eq!(ask(key, Method::GET, path, "").await.status, status, "{path}");
    }
    let mut ops = Reader::of(&intake);
    ops.sign_in("ops").await;
    let page = ops.text("/audit?bucket=gone").await;
    assert!(page.contains("deleted</td>") && page.contains("selected>gone</option>"), "{page}");
}

#[tokio::test]
async fn the_audit_log_of_all_has_what_the_key_may_read() {
    let few = key("few", &["read"]) + "buckets = [\"a\"]\nservices = [\"mail\"]\n";
    let keys = key("ops", &["read", "operate", "keys"]) + &few;
    let service = Service::new(&(keys + BUCKETS)).await;
    let intake = service.intake().await;
    let mut ops = Reader::of(&intake);
    ops.sign_in("ops").await;
    let token = ops.token("/buckets/a").await;
    ops.post("/buckets/a/change", &format!("{token}capacity=7")).await;
    ops.post("/buckets/b/pause", &token).await;
    let keys = intake.client().request(Method::PUT, "/v1/keys/shop").header("dripfeed-key", "ops");
    let made = intake.client().call(keys, r#"{"scopes": ["read"], "buckets": ["a"]}"#).await.expect("an answer");
    assert!(made.status < 300, "{made:?}");

    let rules = r#"{"policies": [{"id": "each", "tiers": [{"kind": "gate", "period": "1s"}]}]}"#;
    let put = intake.client().request(http::Method::PUT, "/v1/services/store/rules").header("dripfeed-key", "ops");
    assert_eq!(intake.client().call(put, rules).await.expect("an answer").status, 200);

    assert!(ops.text("/").await.contains("href=\"/audit\""), "it is linked");
    let all = ops.text("/audit").await;
    for part in ["capacity: 1000 → 7", "pause", "API keys", "shop", "policies: none → [", "href=\"/buckets/b\""] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let of_b = ops.text("/audit?bucket=b").await;
    assert!(of_b.contains("pause") && !of_b.contains("capacity:") && !of_b.contains("shop"), "{of_b}");

    assert!(ops.text("/services").await.contains("href=\"/audit?service=store\""), "it is linked");
    let of_store = ops.text("/audit?service=store").await;
    assert!(of_store.contains("policies: none → [") && !of_store.contains("pause</td>"), "{of_store}");

    let mut reader = Reader::of(&intake);
    reader.sign_in("few").await;
    let seen = reader.text("/audit").await;
    assert!(seen.contains("capacity: 1000 → 7"), "{seen}");
    assert!(!seen.contains("pause</td>") && !seen.contains("/buckets/b") && !seen.contains("shop"), "{seen}");
    assert!(!seen.contains("policies:") && !reader.text("/audit?service=store").await.contains("policies:"), "{seen}");
    for path in ["/audit?bucket=b", "/buckets/b/history"] {
        let forbidden = reader.get(path).await;
        assert_eq!(forbidden.status, 403, "{path}: {forbidden:?}");
        let forbidden = String::from_utf8_lossy(&forbidden.body);
        assert!(forbidden.contains("<main") && !forbidden.contains("pause</td>"), "{forbidden}");
    }
}
