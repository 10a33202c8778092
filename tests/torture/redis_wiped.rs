use std::time::{Duration, Instant};

use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::Harness;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use redis::Value;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "stream, pace, everything deleted, Redis back empty";
const BACK_WITHIN: Duration = Duration::from_secs(1);
/// Until a connection that was lost is there again.
const CONNECTS_WITHIN: Duration = Duration::from_secs(1);
const LINES_PER_SECOND: usize = 10;
/// In which the lines are counted.
const WATCHED: Duration = Duration::from_secs(3);

pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    // Less than is submitted: so there is a backlog, and what a lost pace might grant would be used.
    (setup.rate, setup.burst) = (order.load.per_second / 2, order.load.per_second / 4);
    let mut run = Run::begin(setup).await;
    let mut wrong = Vec::new();
    for wipe in 0..order.faults {
        run.until_fault(wipe, order.faults).await;
        let gone = Instant::now();
        lose_the_pace(&run.harness).await;
        let (back, within) = run.event_log.fault(WHAT, Hit::Everybody, do_it(&run.harness, wipe)).await;
        let group = group_is_back(&run.harness).await.duration_since(back);
        run.event_log.recovered_within(group);
        if group > within * order.slack() {
            wrong.push(format!("the group was back after {group:?}"));
        }
        // What was admitted while it went may be gone too.
        run.lenience.wiped = Some(Instant::now());
        sleep(WATCHED).await;
        let most = LINES_PER_SECOND * usize::try_from(gone.elapsed().as_secs() + 1).expect("few");
        for slot in run.harness.slots() {
            let lines: usize = slot.logs().iter().map(|log| log.lines_between(gone, Instant::now())).sum();
            if lines > most {
                let end = slot.logs().last().map(|log| log.end()).unwrap_or_default();
                wrong.push(format!("{lines} lines in a log where {most} may be:\n{end}"));
            }
        }
    }
    let mut report = run.finish().await;
    report.violations.extend(wrong);
    report
}

/// A pace that is gone was lost, and grants nothing.
async fn lose_the_pace(harness: &Harness) {
    for _ in 0..5 {
        let _: u64 = harness.ask(&["DEL", &Harness::key("pace"), &Harness::key("pace:tiers")]).await;
        sleep(Duration::from_millis(50)).await;
    }
}

/// Reports when Redis could be used again, and how long the group may take from then on.
async fn do_it(harness: &Harness, wipe: u32) -> (Instant, Duration) {
    match wipe % 3 {
        0 => {
            let _: u64 = harness.ask(&["DEL", &Harness::key("jobs")]).await;
            (Instant::now(), BACK_WITHIN)
        }
        1 => {
            let () = harness.ask(&["FLUSHALL"]).await;
            (Instant::now(), BACK_WITHIN)
        }
        _ => {
            let mut redis = harness.redis.lock().await;
            redis.server.kill().await.expect("it runs");
            std::fs::remove_dir_all(redis.folder().join("appendonlydir")).expect("what it has on the disk");
            redis.server.start_again().await.expect("it starts again");
            (Instant::now(), CONNECTS_WITHIN + BACK_WITHIN)
        }
    }
}

async fn group_is_back(harness: &Harness) -> Instant {
    let mut groups = redis::cmd("XINFO");
    groups.arg("GROUPS").arg(Harness::key("jobs"));
    loop {
        if harness.store.command::<Vec<Value>>(&groups).await.is_ok_and(|groups| !groups.is_empty()) {
            return Instant::now();
        }
        sleep(Duration::from_millis(10)).await;
    }
}
