use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_tests::client::Client;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::Upstream;
use futures::future::join_all;

/// What one caller saw while Redis went and came.
#[derive(Default)]
struct Seen {
    accepted: Vec<String>,
    /// How long each 503 took.
    refusals: Vec<Duration>,
}

/// Submits until told to end; each job has a key of its own, and is sent again under it until it is in.
async fn submit(client: Client, name: usize, ended: Arc<AtomicBool>) -> Seen {
    let mut seen = Seen::default();
    for number in 0.. {
        if ended.load(Ordering::SeqCst) {
            break;
        }
        let key = format!("{name}-{number}");
        loop {
            let begun = Instant::now();
            let answer = client.submit_once("b", &key, key.clone()).await.expect("an answer");
            match answer.status {
                202 => {
                    seen.accepted.push(answer.text("id"));
                    break;
                }
                503 => {
                    assert_eq!(answer.text("code"), "store_unavailable");
                    assert!(["not_stored", "unknown"].contains(&answer.text("outcome").as_str()));
                    assert!(answer.headers.contains_key("retry-after"));
                    seen.refusals.push(begun.elapsed());
                }
                429 => {}
                _ => panic!("{answer:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    seen
}

async fn works_again(client: &Client) -> Duration {
    let begun = Instant::now();
    while !client.submit("b", "again").await.is_ok_and(|answer| answer.status == 202) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_goes_and_comes_under_load_and_nothing_accepted_is_lost() {
    let upstream = Upstream::willing().await;
    let mut service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 500", upstream.url())).await;
    let intakes = [service.intake().await, service.intake().await];
    let _processors = [service.processor().await, service.processor().await];
    let ended = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> =
        (0..8).map(|n| tokio::spawn(submit(intakes[n % 2].client(), n, Arc::clone(&ended)))).collect();

    for _ in 0..3 {
        let calls = upstream.calls().len();
        upstream.has_got(calls + 50).await;
        service.redis.server.kill().await.unwrap();
        let refused = intakes[0].client().submit("b", "x").await.expect("an answer");
        assert_eq!(refused.status, 503);
        service.redis.server.start_again().await.unwrap();
        let again = works_again(&intakes[0].client()).await;
        assert!(again < Duration::from_secs(5), "it took {again:?}");
    }
    ended.store(true, Ordering::SeqCst);
    let seen: Vec<Seen> = join_all(callers).await.into_iter().map(|caller| caller.unwrap()).collect();
    service.drained("b").await;

    let slowest = seen.iter().flat_map(|seen| &seen.refusals).max().copied().unwrap_or_default();
    assert!(slowest < Duration::from_secs(2), "a caller waited {slowest:?} for its 503");
    let called: HashSet<String> = upstream.calls().into_iter().map(|call| call.job).collect();
    let lost: Vec<&String> = seen.iter().flat_map(|seen| &seen.accepted).filter(|id| !called.contains(*id)).collect();
    assert!(lost.is_empty(), "accepted and never called: {lost:?}");
    // One job per key, also where the first answer was lost.
    let bodies: Vec<String> =
        upstream.calls().iter().map(|call| call.text().to_owned()).filter(|body| body.contains('-')).collect();
    let calls_by_job = upstream.calls_by_job();
    let jobs = upstream
        .calls()
        .iter()
        .filter(|call| call.text().contains('-'))
        .map(|call| call.job.clone())
        .collect::<HashSet<_>>();
    let keys = bodies.iter().collect::<HashSet<_>>();
    assert_eq!(jobs.len(), keys.len(), "{calls_by_job:?}");
}
