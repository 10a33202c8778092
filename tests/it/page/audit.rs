use dripfeed_tests::service::Service;

use super::reader::{Reader, key};

const BUCKETS: &str =
    "[buckets.a]\nupstream = \"http://127.0.0.1:1/\"\n[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

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
    let keys = intake.client().request(http::Method::PUT, "/v1/keys/shop").header("dripfeed-key", "ops");
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
