use std::time::{Duration, Instant};

use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "SIGSTOP Redis";
/// What a caller waits for its 503, and until the readiness reports.
const TOLD_WITHIN: Duration = Duration::from_secs(3);
const UNREADY_WITHIN: Duration = Duration::from_secs(5);
const SAMPLE: Duration = Duration::from_millis(50);

pub async fn run(order: Order) -> Report {
    let run = Run::begin(order.setup()).await;
    let pauses: &[u64] = if order.long { &[1, 10, 60] } else { &[1, 6, 2] };
    let mut wrong = Vec::new();
    for stop in 0..order.faults {
        run.until_fault(stop, order.faults).await;
        let pause = Duration::from_secs(pauses[stop as usize % pauses.len()]);
        let woken = run
            .event_log
            .fault(WHAT, Hit::Everybody, async {
                run.harness.redis.lock().await.server.pause().expect("it runs");
                let stopped = Instant::now();
                wrong.extend(look(&run, pause).await);
                sleep(pause.saturating_sub(stopped.elapsed())).await;
                let woken = Instant::now();
                run.harness.redis.lock().await.server.resume().expect("it runs");
                woken
            })
            .await;
        run.recovers(woken).await;
    }
    let dead: usize =
        run.harness.processors.iter().flat_map(|slot| slot.logs()).map(|log| log.times_of("declared dead").len()).sum();
    let stops = order.faults as usize;
    let mut report = run.finish().await;
    report.note("replicas declared dead", dead as u64);
    report.must(dead <= stops, || format!("{dead} replicas were declared dead in {stops} stops of Redis"));
    report.violations.extend(wrong);
    report
}

/// What callers and the service manager are reported meanwhile, where it lasts long enough to report.
async fn look(run: &Run, pause: Duration) -> Vec<String> {
    let mut wrong = Vec::new();
    if pause < TOLD_WITHIN {
        return wrong;
    }
    let stopped = Instant::now();
    for intake in &run.harness.intakes {
        let client = intake.client().expect("nobody kills it");
        let answer = client.get("/v1/buckets/b/jobs/1-0").await.expect("an answer");
        if answer.status != 503 || stopped.elapsed() > TOLD_WITHIN * run.harness.setup.slack {
            wrong.push(format!("without Redis, {} came after {:?}", answer.status, stopped.elapsed()));
        }
    }
    if pause > UNREADY_WITHIN {
        sleep(UNREADY_WITHIN.saturating_sub(stopped.elapsed())).await;
        for slot in run.harness.slots() {
            let client = slot.client().expect("nobody kills it");
            let status = async || client.get("/readyz").await.expect("an answer").status;
            while status().await != 503 {
                if stopped.elapsed() > UNREADY_WITHIN * run.harness.setup.slack {
                    wrong.push(format!("without Redis for {:?}, /readyz says {}", stopped.elapsed(), status().await));
                    break;
                }
                sleep(SAMPLE).await;
            }
        }
    }
    wrong
}
