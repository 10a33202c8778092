use std::time::Instant;

use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;

use crate::rows::Order;

const WHAT: &str = "kill -9 a processor";

pub async fn run(order: Order) -> Report {
    let run = Run::begin(order.setup()).await;
    let mut draw = run.jobs.draw(0, 10);
    for kill in 0..order.faults {
        run.until_fault(kill, order.faults).await;
        let victim = draw.usize(0..run.harness.processors.len());
        let slot = &run.harness.processors[victim];
        slot.ready().await;
        run.event_log.fault(WHAT, Hit::Processor(victim), slot.kill()).await;
        run.recovers(Instant::now()).await;
    }
    let in_flight = u64::from(run.harness.setup.concurrency) * u64::from(order.faults);
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates <= in_flight, || format!("{duplicates} duplicates, {in_flight} may have been in flight"));
    report
}
