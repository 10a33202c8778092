//! A replay of many outlives the intake that carries it out, but not the bucket.

use std::collections::HashMap;

use dripfeed_bucket::{Bucket, DeadFilter, ReplayState};
use dripfeed_tests::buckets::{self, buried, join, settle, submit, take_one};
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::{Service, until};
use http::Method;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
const OTHER: &str = "[buckets.a]\nupstream = \"http://127.0.0.1:1/\"\n";
const LETTERS: u64 = 30;

/// Jobs of the bucket `b` that have died.
async fn letters(service: &Service) -> Bucket {
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "undertaker").await;
    for _ in 0..LETTERS {
        submit(&bucket, buckets::job("x")).await;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    bucket
}

/// Starts a replay at this rate. Returns its path.
async fn start(intake: &Process, rate: &str) -> String {
    let client = intake.client();
    let request = client.request(Method::POST, "/v1/buckets/b/dead/replays");
    let started = client.call(request, format!(r#"{{"rate": "{rate}"}}"#)).await.expect("an answer");
    assert_eq!(started.status, 202, "{started:?}");
    started.headers["location"].to_str().expect("text").to_owned()
}

#[tokio::test]
async fn another_intake_goes_on_with_a_replay_whose_intake_is_killed() {
    let service = Service::new(BUCKET).await;
    let (mut doomed, heir) = tokio::join!(service.intake(), service.intake());
    let bucket = letters(&service).await;
    let path = start(&doomed, "4/s").await;
    let seen = async || heir.client().get(&path).await.expect("an answer").json();
    until("some are replayed", async || seen().await["done"].as_u64() > Some(2)).await;
    doomed.kill().await;
    let then = seen().await;
    assert_eq!((&then["state"], &then["total"]), (&"running".into(), &LETTERS.into()));
    until("the replay is done", async || seen().await["state"] == "done").await;
    assert_eq!((&seen().await["done"], &seen().await["failed"]), (&LETTERS.into(), &0.into()));
    let census = bucket.census().await.expect("Redis answers");
    assert_eq!((census.level, census.dead), (LETTERS, 0));
}

#[tokio::test]
async fn a_replay_stops_while_its_bucket_is_removed_from_the_configuration() {
    let service = Service::new(&[OTHER, BUCKET].concat()).await;
    let intake = service.intake().await;
    let bucket = letters(&service).await;
    let path = start(&intake, "5/s").await;
    let replay = async || bucket.replays().await.expect("Redis answers").remove(0);
    until("some are replayed", async || replay().await.done > 2).await;
    service.configure(OTHER);
    intake.hang_up();
    until("the bucket is removed", async || intake.client().get(&path).await.expect("an answer").status == 404).await;
    // A process that carries it out renews the lease long before it runs out.
    let lease = async || {
        let fields = service.redis::<HashMap<String, String>>("HGETALL dripfeed:{b}:dead:replays").await;
        let (_, lease) = fields.iter().find(|(name, _)| name.ends_with(":lease")).expect("a process had it");
        lease.rsplit(' ').next().expect("a time").parse::<u64>().expect("ms")
    };
    let now = async || service.redis::<(u64, u64)>("TIME").await.0 * 1000;
    until("the lease has run out", async || lease().await < now().await).await;
    let left = replay().await;
    assert!(left.state == ReplayState::Running && left.done < LETTERS, "{left:?}");
    assert_eq!(service.level("b").await, left.done);

    service.configure(&[OTHER, BUCKET].concat());
    intake.hang_up();
    until("the replay is done", async || replay().await.state == ReplayState::Done).await;
    assert_eq!(replay().await.done, LETTERS);
}

#[tokio::test]
async fn a_replay_goes_on_beside_a_bucket_whose_replays_are_unreadable() {
    let service = Service::new(&[OTHER, BUCKET].concat()).await;
    let bucket = letters(&service).await;
    service.redis::<()>("SET dripfeed:{a}:dead:replays x").await;
    bucket.start_replay(DeadFilter::default(), None, None).await.expect("Redis answers").expect("few are running");
    let _intake = service.intake().await;
    let replay = async || bucket.replays().await.expect("Redis answers").remove(0);
    until("the replay is done", async || replay().await.state == ReplayState::Done).await;
    assert_eq!(replay().await.done, LETTERS);
}

#[tokio::test]
async fn a_replay_that_was_started_is_in_the_audit_log_though_its_progress_cannot_be_read() {
    let service = Service::new(BUCKET).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    letters(&service).await;
    proxy.plan("HGETALL", ProxyFault::Error("ERR planned"), 1000);
    let started = intake.client().post("/v1/buckets/b/dead/replays", "").await.expect("an answer");
    assert!(started.status >= 500, "{started:?}");
    proxy.behave("HGETALL");
    let trail = intake.client().get("/v1/buckets/b/audit").await.expect("an answer").json();
    let detail = trail["items"][0]["detail"].as_str().unwrap_or_default();
    assert!(trail["items"][0]["action"] == "replay" && detail.starts_with("dead letters, as "), "{trail}");
}
