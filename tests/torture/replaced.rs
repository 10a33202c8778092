use std::time::Instant;

use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::STEADY_LEASE;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;

use crate::rows::Order;

const WHAT: &str = "SIGTERM";

/// One after the other is asked to end and followed by a new one, intakes and processors alike.
pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = STEADY_LEASE;
    let run = Run::begin(setup).await;
    let slots: Vec<_> = run.harness.slots().cloned().collect();
    for n in 0..order.faults {
        run.until_fault(n, order.faults).await;
        let slot = &slots[n as usize % slots.len()];
        slot.ready().await;
        // It must cost nothing: no duplicate, no attempt.
        run.event_log.fault(WHAT, Hit::Nobody, slot.terminate()).await;
        run.recovers(Instant::now()).await;
        slot.ready().await;
    }
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates == 0, || format!("{duplicates} duplicates"));
    report
}
