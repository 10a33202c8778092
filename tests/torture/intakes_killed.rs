use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::STEADY_LEASE;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;

use crate::rows::Order;

const WHAT: &str = "kill -9 an intake";

pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = STEADY_LEASE;
    let run = Run::begin(setup).await;
    let mut draw = run.jobs.draw(0, 11);
    for kill in 0..order.faults {
        run.until_fault(kill, order.faults).await;
        let slot = &run.harness.intakes[draw.usize(0..run.harness.intakes.len())];
        slot.ready().await;
        run.event_log.fault(WHAT, Hit::Nobody, slot.kill()).await;
    }
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates == 0, || format!("{duplicates} duplicates, though no processor was touched"));
    report
}
