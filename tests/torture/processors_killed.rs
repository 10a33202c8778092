use std::time::Instant;

use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;

use crate::rows::Order;

pub async fn run(order: Order) -> Report {
    let run = Run::begin(order.setup()).await;
    let mut draw = run.jobs.draw(0, 10);
    for kill in 0..order.faults {
        run.until_fault(kill, order.faults).await;
        run.kill_processor(&mut draw).await;
        run.recovers(Instant::now()).await;
    }
    let in_flight = u64::from(run.harness.setup.concurrency) * u64::from(order.faults);
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates <= in_flight, || format!("{duplicates} duplicates, {in_flight} may have been in flight"));
    report
}
