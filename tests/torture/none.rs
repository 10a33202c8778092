use dripfeed_tests::torture::harness::STEADY_LEASE;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;

use crate::rows::Order;

/// What may be called twice though nothing went wrong, of a million.
const DUPLICATES_PER_MILLION: u64 = 10;

pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = STEADY_LEASE;
    let run = Run::begin(setup).await;
    run.driver.reached(order.load.jobs).await;
    let mut report = run.finish().await;
    let (duplicates, jobs) = (report.duplicates(), report.jobs);
    let most = (jobs * DUPLICATES_PER_MILLION).div_ceil(1_000_000);
    report.must(duplicates <= most, || format!("{duplicates} duplicates of {jobs} jobs"));
    report
}
