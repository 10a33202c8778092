use std::time::{Duration, Instant};

use dripfeed_tests::client::ClientResponse;
use dripfeed_tests::torture::driver::{all_ready, answered};
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::{BUCKET, Harness};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "maxmemory reached: processor killed and started, bucket resumed, capacity lowered";
/// Beyond the lease and what the backlog takes at its rate.
const TO_DRAIN: Duration = Duration::from_secs(20);
/// Enough for each processor to have some of it.
const BACKLOG: u64 = 300;
const SAMPLE: Duration = Duration::from_millis(20);

/// While Redis is full no work comes in, so all that is in the bucket is to leave it.
pub async fn run(order: Order) -> Report {
    let run = Run::begin(order.setup()).await;
    let mut draw = run.jobs.draw(0, 11);
    let (mut wrong, mut drained) = (Vec::new(), 0);
    for full in 0..order.faults {
        run.until_fault(full, order.faults).await;
        let victim = draw.usize(0..run.harness.processors.len());
        wrong.extend(operate(&run.harness, "pause").await);
        wait_for_backlog(&run.harness).await;
        let repaired = run.event_log.fault(WHAT, Hit::Processor(victim), repair(&run.harness, victim)).await;
        match repaired {
            Ok(left) => drained += left,
            Err(what) => wrong.push(what),
        }
        let free = Instant::now();
        let () = run.harness.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
        wrong.extend(lower(&run.harness, None).await);
        run.recovers(free).await;
    }
    let in_flight = u64::from(run.harness.setup.concurrency) * u64::from(order.faults);
    let mut report = run.finish().await;
    report.note("jobs that left while Redis was full", drained);
    let duplicates = report.duplicates();
    report.must(duplicates <= in_flight, || format!("{duplicates} duplicates, {in_flight} may have been in flight"));
    report.violations.extend(wrong);
    report
}

/// While it is paused, jobs come in.
async fn wait_for_backlog(harness: &Harness) {
    while harness.level().await < BACKLOG {
        sleep(SAMPLE).await;
    }
}

/// How many jobs left the bucket, or what is wrong.
async fn repair(harness: &Harness, victim: usize) -> Result<u64, String> {
    let () = harness.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let backlog = harness.level().await;
    harness.processors[victim].kill().await;
    let wrong = [operate(harness, "resume").await, lower(harness, Some(harness.setup.capacity / 2)).await];
    if let Some(wrong) = wrong.into_iter().flatten().next() {
        return Err(wrong);
    }
    drains(harness, backlog).await?;
    Ok(backlog)
}

/// At maxmemory too, what is in the bucket leaves it, and each processor serves.
pub async fn drains(harness: &Harness, backlog: u64) -> Result<(), String> {
    // The successor of one that was killed is ready before it is a member: it has to be one.
    all_ready(&harness.processors).await;
    let begun = Instant::now();
    let promised = harness.setup.lease + Duration::from_secs(backlog) / harness.setup.rate + TO_DRAIN;
    let promised = promised * harness.setup.slack;
    while harness.level().await > 0 || members(harness).await < harness.processors.len() {
        if begun.elapsed() > promised {
            let (level, members) = (harness.level().await, members(harness).await);
            return Err(format!(
                "after {promised:?} at maxmemory, {level} of {backlog} jobs are left, {members} replicas serve"
            ));
        }
        sleep(SAMPLE).await;
    }
    Ok(())
}

/// One that starts beside nobody, in a bucket without jobs, serves it on standby.
async fn members(harness: &Harness) -> usize {
    let mut members = 0;
    for key in ["replicas", "standby"] {
        members += harness.ask::<usize>(&["HLEN", &Harness::key(key)]).await;
    }
    members
}

async fn operate(harness: &Harness, verb: &str) -> Option<String> {
    let client = harness.intakes[0].client().expect("nobody kills it");
    let path = format!("/v1/buckets/{BUCKET}/{verb}");
    report_of(verb, answered(|| client.post(&path, "")).await)
}

/// None: as configured.
async fn lower(harness: &Harness, capacity: Option<u32>) -> Option<String> {
    let client = harness.intakes[0].client().expect("nobody kills it");
    let capacity = capacity.map_or("null".to_owned(), |capacity| capacity.to_string());
    let (path, change) = (format!("/v1/buckets/{BUCKET}"), format!("{{\"capacity\":{capacity}}}"));
    report_of("the change", answered(|| client.patch(&path, &change)).await)
}

fn report_of(what: &str, answer: ClientResponse) -> Option<String> {
    if answer.status == 200 { None } else { Some(format!("{what} at maxmemory: {answer:?}")) }
}
