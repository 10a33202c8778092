use std::time::{Duration, Instant};

use dripfeed_tests::client::Answer;
use dripfeed_tests::torture::chronicle::Hit;
use dripfeed_tests::torture::driver::all_ready;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::torture::stage::{BUCKET, Stage};
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
        let victim = draw.usize(0..run.stage.processors.len());
        wrong.extend(operate(&run.stage, "pause").await);
        wait_for_backlog(&run.stage).await;
        let repaired = run.chronicle.fault(WHAT, Hit::Processor(victim), repair(&run.stage, victim)).await;
        match repaired {
            Ok(left) => drained += left,
            Err(what) => wrong.push(what),
        }
        let free = Instant::now();
        let () = run.stage.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
        wrong.extend(lower(&run.stage, None).await);
        run.recovers(free).await;
    }
    let in_flight = u64::from(run.stage.setup.concurrency) * u64::from(order.faults);
    let mut report = run.finish().await;
    report.note("jobs that left while Redis was full", drained);
    let duplicates = report.duplicates();
    report.must(duplicates <= in_flight, || format!("{duplicates} duplicates, {in_flight} may have been in flight"));
    report.violations.extend(wrong);
    report
}

/// While it is paused, jobs come in.
async fn wait_for_backlog(stage: &Stage) {
    while stage.level().await < BACKLOG {
        sleep(SAMPLE).await;
    }
}

/// How many jobs left the bucket, or what is wrong.
async fn repair(stage: &Stage, victim: usize) -> Result<u64, String> {
    let () = stage.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let backlog = stage.level().await;
    stage.processors[victim].kill().await;
    let wrong = [operate(stage, "resume").await, lower(stage, Some(stage.setup.capacity / 2)).await];
    if let Some(wrong) = wrong.into_iter().flatten().next() {
        return Err(wrong);
    }
    drains(stage, backlog).await?;
    Ok(backlog)
}

/// At maxmemory too, what is in the bucket leaves it, and each processor serves.
pub async fn drains(stage: &Stage, backlog: u64) -> Result<(), String> {
    // The successor of one that was killed is ready before it is a member: it has to be one.
    all_ready(&stage.processors).await;
    let begun = Instant::now();
    let promised = stage.setup.lease + Duration::from_secs(backlog) / stage.setup.rate + TO_DRAIN;
    let promised = promised * stage.setup.slack;
    while stage.level().await > 0 || members(stage).await < stage.processors.len() {
        if begun.elapsed() > promised {
            let (level, members) = (stage.level().await, members(stage).await);
            return Err(format!(
                "after {promised:?} at maxmemory, {level} of {backlog} jobs are left, {members} replicas serve"
            ));
        }
        sleep(SAMPLE).await;
    }
    Ok(())
}

async fn members(stage: &Stage) -> usize {
    stage.ask::<Vec<String>>(&["HKEYS", &Stage::key("replicas")]).await.len()
}

async fn operate(stage: &Stage, verb: &str) -> Option<String> {
    let client = stage.intakes[0].client().expect("nobody kills it");
    told(verb, client.post(&format!("/v1/buckets/{BUCKET}/{verb}"), "").await)
}

/// None: as configured.
async fn lower(stage: &Stage, capacity: Option<u32>) -> Option<String> {
    let client = stage.intakes[0].client().expect("nobody kills it");
    let capacity = capacity.map_or("null".to_owned(), |capacity| capacity.to_string());
    told("the change", client.patch(&format!("/v1/buckets/{BUCKET}"), &format!("{{\"capacity\":{capacity}}}")).await)
}

fn told(what: &str, answer: Result<Answer, String>) -> Option<String> {
    match answer {
        Ok(answer) if answer.status == 200 => None,
        other => Some(format!("{what} at maxmemory: {other:?}")),
    }
}
