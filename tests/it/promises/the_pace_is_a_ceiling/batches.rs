//! A replica gets permits for several calls at once, and makes the calls later.

use futures::future::join_all;

use super::*;

const RATE_PER_S: u64 = 100;
const BURST: usize = 10;

/// The permits of two bursts, granted one after the other.
async fn two_bursts(replica: &Replica) -> Vec<Permit> {
    let mut permits = Vec::new();
    while permits.len() < 2 * BURST {
        match replica.take(2 * BURST - permits.len()).await.unwrap() {
            Take::Jobs(jobs, _) => permits.extend(jobs.into_iter().map(|taken| taken.permit)),
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => panic!("it is alive"),
        }
    }
    permits
}

/// Each grant is within the rate, but their calls at one moment together aren't. On a busy machine the permits are
/// older, and the moment is longer: neither allows more calls.
#[tokio::test]
async fn permits_that_were_granted_one_after_the_other_are_not_spent_at_once() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.leak.rate = format!("{RATE_PER_S}/s").parse().ok();
    settings.leak.burst = BURST as u64;
    let bucket = open(&redis, settings).await;
    for answer in bucket.admit_many((0..7 * BURST).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    let replica = join(&bucket, "a").await;
    for _ in 0..3 {
        let permits = two_bursts(&replica).await;
        let begun = Instant::now();
        let spent = join_all(permits.into_iter().map(Permit::spend)).await;
        let calls = spent.into_iter().filter(|may_call| *may_call).count();
        let most = BURST as f64 + RATE_PER_S as f64 * begun.elapsed().as_secs_f64();
        assert!(calls as f64 <= most, "{calls} calls at once, of {most}");
    }
}
