//! Promise 6: A replica that lost its jobs (paused, partitioned) can't complete, park or bury them.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Ending, JobState};
use dripfeed_tests::buckets::{self, admitted, buried, join, open, settle, take};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use tokio::sync::watch;

#[tokio::test]
async fn who_lost_its_jobs_changes_nothing_by_any_verb() {
    let ends = [
        buckets::DELIVERED,
        buried("I thought it was mine"),
        Settlement::Retry { after: Duration::from_hours(1) },
        Settlement::Throttled { wait: Some(Duration::from_hours(1)) },
        Settlement::Requeue,
    ];
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    for answer in bucket.admit_many((0..5).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    let (former, owner) = (join(&bucket, "former").await, join(&bucket, "owner").await);
    let lost = take(&former, 5).await;
    bucket.declare_dead(former.consumer()).await.unwrap();
    let owned = take(&owner, 5).await;
    let pending = async || {
        let mut pending = redis::cmd("XPENDING");
        pending.arg("dripfeed:{b}:jobs").arg("processors").arg("-").arg("+").arg(10);
        let held: Vec<(String, String, u64, u64)> = redis.store().await.command(&pending).await.unwrap();
        held.into_iter().map(|(id, owner, _, deliveries)| (id, owner, deliveries)).collect::<Vec<_>>()
    };
    let before = pending().await;

    for (taken, end) in lost.into_iter().zip(ends) {
        assert_eq!(settle(&former, taken, end).await, SettleResult::Fenced);
    }
    assert_eq!(pending().await, before);
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.in_flight, census.parked, census.dead), (5, 5, 0, 0));
    assert_eq!(census.pace.reason, "no_rate", "the bucket holds for nobody");
    assert!(bucket.outcomes(TimeWindow::default(), None, None, 10).await.unwrap().items.is_empty());
    assert!(matches!(former.take(1).await.unwrap(), Take::Fenced));

    for taken in owned {
        let id = taken.claim.id();
        assert_eq!(settle(&owner, taken, buckets::DELIVERED).await, SettleResult::Recorded);
        let view = bucket.find(id).await.unwrap().unwrap();
        assert_eq!((view.state, view.attempts), (JobState::Ended(Ending::Delivered), 1));
    }
}

/// The sleeper's calls are answered when the test opens the gate, with answers for which it would bury the jobs. The
/// other replica's calls are answered at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_slept_through_its_death_settles_nothing_when_it_wakes() {
    const JOBS: usize = 5;
    let (gate, opened) = watch::channel(false);
    let upstream = Upstream::start(move |call| {
        let mut opened = opened.clone();
        async move {
            if call.headers.get("user-agent").is_some_and(|agent| agent == "sleeper") {
                opened.wait_for(|opened| *opened).await.expect("the test goes on");
                return Answer::Status(400);
            }
            Answer::Status(200)
        }
    })
    .await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    let intake = service.intake().await;
    let sleeper = service.role("processor", &["buckets.b.headers={ User-Agent = \"sleeper\" }"]).await;
    for n in 0..JOBS {
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    upstream.has_got(JOBS).await;
    sleeper.pause();
    let _other = service.processor().await;
    upstream.has_got(2 * JOBS).await;
    service.drained("b").await;

    // The sleeper wakes up with five answers for which it would bury the jobs.
    gate.send_replace(true);
    sleeper.resume();
    until("the sleeper sees that it was declared dead", async || sleeper.log().contains("rejoining")).await;
    assert_eq!(service.counts("b").await.dead, 0);
    let outcomes: std::collections::BTreeMap<String, String> = service.redis("HGETALL dripfeed:{b}:outcomes").await;
    let first: Vec<_> = upstream.calls()[..JOBS].iter().map(|call| call.job.clone()).collect();
    for job in first {
        assert!(outcomes[&job].contains("delivered"), "{job}: {}", outcomes[&job]);
        assert_eq!(upstream.calls_by_job()[&job], 2, "one duplicate per job that it had claimed");
    }
}
