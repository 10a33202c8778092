//! Promise 7: A dead replica's jobs are back within the lease, and its consumer name is gone. A slow job of a live
//! replica is never taken from it, however long it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dripfeed_tests::redis_fault_proxy::RedisFaultProxy;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};

/// The default lease, which is long compared to the delays of a busy machine.
const LEASE: Duration = Duration::from_secs(10);
/// A replica looks at the others six times within the lease. In the worst case its first look after a death sees the
/// last heartbeat of the dead replica, and the fifth look after that finds it dead. One more may follow before the test
/// notices.
const MOST_LOOKS: u64 = 1 + 5 + 1;
const JOBS: usize = 10;
/// The lease of the tests' settings.
const SHORT_LEASE: Duration = Duration::from_secs(6);

async fn consumers(service: &Service) -> Vec<String> {
    let consumers: Vec<std::collections::HashMap<String, redis::Value>> =
        service.redis("XINFO CONSUMERS dripfeed:{b}:jobs processors").await;
    let name = |consumer: &std::collections::HashMap<String, redis::Value>| {
        redis::FromRedisValue::from_redis_value(consumer["name"].clone()).expect("a name")
    };
    consumers.iter().map(name).filter(|name| name != "@parked").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_kill_9_another_replica_calls_them_within_the_lease() {
    // No call is answered while the victim lives.
    let victim_lives = std::sync::Arc::new(AtomicBool::new(true));
    let lives = victim_lives.clone();
    let upstream = Upstream::start(move |_| {
        let lives = lives.clone();
        async move {
            if lives.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            Answer::Status(200)
        }
    })
    .await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    let intake = service.intake().await;
    let lease = format!("processor.lease={}s", LEASE.as_secs());
    let mut victim = service.role("processor", &["processor.name=victim", &lease]).await;
    for n in 0..JOBS {
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    upstream.has_got(JOBS).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let heir = service.role("processor", &["processor.name=heir", &lease, &url]).await;
    until("both are members", async || consumers(&service).await.len() == 2).await;
    let beats = async || service.redis::<Vec<(String, u64)>>("HGETALL dripfeed:{b}:replicas").await;
    let beats_of_victim = async || {
        let beats = beats().await;
        beats.into_iter().find(|(name, _)| name.starts_with("victim")).map(|(_, beats)| beats)
    };
    // The heir has seen the victim's heartbeats. The victim sends one more, which the heir hasn't seen yet.
    let looks = proxy.calls("beat");
    until("the heir has looked twice", async || proxy.calls("beat") >= looks + 2).await;
    let before = beats_of_victim().await;
    until("the victim's heart beats", async || beats_of_victim().await != before).await;

    victim_lives.store(false, Ordering::SeqCst);
    victim.kill().await;
    let looks = proxy.calls("beat");
    upstream.has_got(2 * JOBS).await;
    let looks = proxy.calls("beat") - looks;
    assert!(looks <= MOST_LOOKS, "the last of its jobs was called again after {looks} looks");

    service.drained("b").await;
    let metrics = heir.client().get("/metrics").await.expect("an answer").body;
    let recovered = format!("dripfeed_jobs_recovered_total{{bucket=\"b\"}} {JOBS}\n");
    assert!(String::from_utf8_lossy(&metrics).contains(&recovered), "{metrics:?}");
    let left = consumers(&service).await;
    assert!(!left.iter().any(|name| name.starts_with("victim")), "{left:?}");
    assert_eq!(beats().await.len(), 1);
    assert!(upstream.calls_by_job().values().all(|calls| *calls == 2), "each was called again, once");
    assert!(upstream.calls().iter().all(|call| call.attempt == 1), "a death is no failed attempt of the job");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_job_of_a_live_replica_stays_with_it() {
    let upstream = Upstream::start(|_| async {
        tokio::time::sleep(2 * SHORT_LEASE).await;
        Answer::Status(200)
    })
    .await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    let intake = service.intake().await;
    let _replicas = [service.processor().await, service.processor().await];
    for n in 0..JOBS {
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    service.drained("b").await;
    assert_eq!(upstream.calls().len(), JOBS, "each was called once");
    let recovered: Option<u64> = service.redis("HGET dripfeed:{b}:tally recovered").await;
    assert_eq!(recovered, None);
}
