use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use super::*;

pub(super) const CANARY: &str = "Bearer canary-6f1d";
/// Two keys of 32 bytes.
pub(super) const KEYS: [&str; 2] =
    ["AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="];

/// A service, and the path of its file with these keys.
pub(super) async fn service(upstreams: &[&Upstream], keys: &[&str]) -> (Service, String) {
    let service = Service::new("").await;
    let file = service.redis.folder().join("seal.keys");
    write(&file, keys);
    let origins: Vec<String> =
        upstreams.iter().map(|upstream| format!("{:?}", upstream.url().trim_end_matches("/feed"))).collect();
    let settings =
        format!("[define]\nupstreams = [{}]\nallow_private = true\nseal_key_file = {file:?}\n", origins.join(", "));
    service.configure(&settings);
    (service, file.display().to_string())
}

pub(super) fn write(file: impl AsRef<std::path::Path>, keys: &[&str]) {
    fs::write(&file, keys.join("\n")).expect("a file");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
}

pub(super) fn with_credentials(upstream: &Upstream) -> Value {
    json!({ "upstream": upstream.url(), "headers": { "Authorization": CANARY } })
}

pub(super) fn authorization(upstream: &Upstream) -> Vec<Option<String>> {
    let of = |call: &dripfeed_tests::upstream::Call| {
        call.headers.get("authorization").map(|value| value.to_str().expect("text").to_owned())
    };
    upstream.calls().iter().map(of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_credentials_go_to_their_upstream_and_nowhere_else() {
    let (first, second) = (Upstream::willing().await, Upstream::willing().await);
    let (service, file) = service(&[&first, &second], &KEYS[..1]).await;
    let (intake, processor) = tokio::join!(service.intake(), service.processor());
    let client = intake.client();
    let created = put(&client, "b", &with_credentials(&first)).await;
    assert_eq!((created.status, &created.json()["has_credentials"]), (201, &true.into()), "{created:?}");
    assert_eq!(submit(&client, "b").await.status, 202);
    first.has_got(1).await;
    // A change of another setting keeps the credentials.
    let mut changed = json!({ "upstream": first.url(), "capacity": 900 });
    assert_eq!(put(&client, "b", &changed).await.json()["has_credentials"], true);
    assert_eq!(submit(&client, "b").await.status, 202);
    first.has_got(2).await;
    assert_eq!(authorization(&first), [Some(CANARY.to_owned()), Some(CANARY.to_owned())]);

    let stored: String = service.redis("HGET dripfeed:{@buckets}:definitions b").await;
    let shown = get(&client, "/v1/buckets/b").await;
    let audit = get(&client, "/v1/buckets/b/audit").await;
    let bodies = [created.body, shown.body.clone(), audit.body].map(|body| String::from_utf8_lossy(&body).into_owned());
    for text in bodies.iter().chain([&stored, &intake.log(), &processor.log()]) {
        assert!(!text.contains("canary"), "{text}");
    }
    // Credentials that are copied to another bucket or upstream can't be decrypted, so that bucket isn't served.
    let copied = stored.replacen("\"by\":null", "\"by\": null", 1);
    assert_ne!(copied, stored);
    put(&client, "c", &json!({ "upstream": first.url() })).await;
    let mut set = redis::cmd("HSET");
    set.arg("dripfeed:{@buckets}:definitions").arg("c").arg(copied);
    service.store().command::<u64>(&set).await.expect("Redis answers");
    service.redis::<u64>("ZADD dripfeed:{@buckets}:changed 9000000000000000 c").await;
    service.redis::<u64>("HSET dripfeed:{@buckets}:state version 9000000000000000").await;
    until("it is served no more", async || submit(&client, "c").await.status == 503).await;
    service.redis::<u64>("HDEL dripfeed:{@buckets}:definitions c").await;

    // A change to an upstream of another origin drops the credentials.
    changed["upstream"] = json!(second.url());
    assert_eq!(put(&client, "b", &changed).await.json()["has_credentials"], false);
    // Until the processor knows of the change, it calls the first upstream.
    until("the other upstream is called", async || submit(&client, "b").await.status == 202 && second.count() > 0)
        .await;
    assert!(authorization(&second).iter().all(Option::is_none));
    service.drained("b").await;

    // Both keys are configured during a rotation.
    put(&client, "b", &with_credentials(&first)).await;
    write(&file, &[KEYS[1], KEYS[0]]);
    let rotated = service.intake().await;
    assert_eq!(submit(&rotated.client(), "b").await.status, 202);
    write(&file, &KEYS[1..]);
    let late = service.intake().await;
    assert_eq!(submit(&late.client(), "b").await.status, 503, "the key is gone");
    assert!(late.log().contains("can't be decrypted"), "{}", late.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_encrypts_what_it_keeps_with_the_new_key() {
    let upstream = Upstream::willing().await;
    let (service, file) = service(&[&upstream], &KEYS[..1]).await;
    let first = service.intake().await;
    assert_eq!(put(&first.client(), "b", &with_credentials(&upstream)).await.status, 201);
    write(&file, &[KEYS[1], KEYS[0]]);
    let rotated = service.intake().await;
    let changed = json!({ "upstream": upstream.url(), "capacity": 900 });
    assert_eq!(put(&rotated.client(), "b", &changed).await.json()["has_credentials"], true);
    let stored: String = service.redis("HGET dripfeed:{@buckets}:definitions b").await;
    // Credentials with the new key are stored unchanged.
    assert_eq!(put(&rotated.client(), "b", &changed).await.status, 200);
    assert_eq!(service.redis::<String>("HGET dripfeed:{@buckets}:definitions b").await, stored);
    write(&file, &KEYS[1..]);
    let (late, _processor) = tokio::join!(service.intake(), service.processor());
    let submitted = submit(&late.client(), "b").await;
    assert_eq!(submitted.status, 202, "{submitted:?}");
    upstream.has_got(1).await;
    assert_eq!(authorization(&upstream), [Some(CANARY.to_owned())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_never_drops_credentials_that_it_cannot_decrypt() {
    let upstream = Upstream::willing().await;
    let (service, file) = service(&[&upstream], &KEYS[..1]).await;
    let first = service.intake().await;
    for bucket in ["b", "c"] {
        assert_eq!(put(&first.client(), bucket, &with_credentials(&upstream)).await.status, 201);
    }
    let stored: String = service.redis("HGET dripfeed:{@buckets}:definitions b").await;
    write(&file, &KEYS[1..]);
    let late = service.intake().await;
    let client = late.client();
    let refused = put(&client, "b", &json!({ "upstream": upstream.url() })).await;
    assert_eq!((refused.status, refused.text("member").as_str()), (422, "headers"), "{refused:?}");
    assert!(refused.text("detail").contains("can't be decrypted"), "{refused:?}");
    assert_eq!(service.redis::<String>("HGET dripfeed:{@buckets}:definitions b").await, stored);
    // Sending the credentials again and deleting the bucket need no earlier key.
    assert_eq!(put(&client, "b", &with_credentials(&upstream)).await.json()["has_credentials"], true);
    assert_eq!(delete(&client, "c").await.status, 204);
}
