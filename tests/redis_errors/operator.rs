use std::time::{Duration, Instant};

use dripfeed_tests::door::{Door, Misdeed};
use dripfeed_tests::service::Service;

use crate::misdeeds;

pub const SCRIPTS: [&str; 1] = ["examine"];

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"";

#[tokio::test]
async fn a_doctor_who_cannot_look_says_so() {
    let service = Service::new(BUCKET).await;
    let door = Door::before(&service.redis).await;
    let examine = async || {
        let mut doctor = service.command(&[&format!("redis.url={}", door.url())]);
        doctor.arg("doctor").output().await.expect("the executable")
    };
    assert!(examine().await.status.success());
    for misdeed in misdeeds() {
        door.plan("examine", misdeed, 1);
        let ended = examine().await;
        assert!(door.has_done("examine"), "{misdeed:?}");
        let told = String::from_utf8_lossy(&ended.stderr);
        if matches!(misdeed, Misdeed::Error(error) if error.starts_with("NOSCRIPT")) {
            assert!(ended.status.success(), "{ended:?}");
            continue;
        }
        assert!(matches!(ended.status.code(), Some(1 | 69 | 77)), "{misdeed:?}: {ended:?}");
        assert!(told.contains("script examine: ") && !told.contains("panicked"), "{misdeed:?}: {told}");
    }
    assert!(examine().await.status.success());
}

/// What is asked while a role starts; login included.
const AT_START: [&str; 4] = ["HELLO", "PING", "INFO", "CONFIG"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_starts_when_redis_can_serve_it() {
    let service = Service::new(BUCKET).await;
    let door = Door::before(&service.redis).await;
    let url = format!("redis.url={}", door.url());
    for name in AT_START {
        for misdeed in [
            Misdeed::Error("LOADING Redis is loading the dataset in memory"),
            Misdeed::Error("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
            Misdeed::Drop,
            Misdeed::Half,
        ] {
            let begun = Instant::now();
            door.plan(name, misdeed, 2);
            let intake = service.role("intake", &[&url]).await;
            assert!(door.has_done(name), "{name}");
            assert!(begun.elapsed() < Duration::from_secs(15), "{name} {misdeed:?}: {:?}", begun.elapsed());
            assert!(!intake.log().contains("panicked"), "{}", intake.log());
        }
    }
}
