use std::time::Duration;

use dripfeed_tests::service::until;
use dripfeed_tests::torture::breakpoint::{BreakpointAction, Step};
use dripfeed_tests::torture::driver::answered;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::{BUCKET, STEADY_LEASE};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use tokio::time::timeout;

use crate::crashes::may_be_dying;
use crate::rows::Order;

const WHAT: &str = "kill -9 an intake during a purge";
/// Waiting and parked: more than one script purges.
const BACKLOG: u64 = 1200;
/// For the script that an intake is killed at to come, once it was asked to purge.
const COMES_WITHIN: Duration = Duration::from_mins(1);

pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    // A backlog builds up, also where jobs come slowly.
    (setup.rate, setup.burst, setup.lease) = (50, 50, STEADY_LEASE);
    let mut run = Run::begin(setup).await;
    run.lenience.purged = true;
    let mut draw = run.jobs.draw(0, 15);
    for kill in 0..order.faults {
        run.until_fault(kill, order.faults).await;
        until("there is a backlog", async || run.harness.level().await > BACKLOG).await;
        // Before its first script, or after its first or second.
        let own = match draw.u8(0..3) {
            0 => vec![(Step::Before("purge"), BreakpointAction::Kill)],
            1 => vec![(Step::After("purge"), BreakpointAction::Kill)],
            _ => vec![(Step::After("purge"), BreakpointAction::Pass), (Step::After("purge"), BreakpointAction::Kill)],
        };
        purge_is_killed(&run, own).await;
    }
    let mut report = run.finish().await;
    let (duplicates, cancelled) = (report.duplicates(), report.outcomes.get("cancelled").copied().unwrap_or_default());
    report.must(duplicates == 0, || format!("{duplicates} duplicates, though no processor was touched"));
    report.must(cancelled >= BACKLOG, || format!("{cancelled} jobs were purged"));
    report
}

/// The intake that purges dies; another one, asked again, purges what is left.
async fn purge_is_killed(run: &Run, steps: Vec<(Step, BreakpointAction)>) {
    let [steady, victim] = [1, 0].map(|intake| &run.harness.intakes[intake]);
    victim.ready().await;
    let (client, doomed) = (steady.client().expect("nobody kills this one"), victim.client().expect("it is ready"));
    let path = format!("/v1/buckets/{BUCKET}/purge");
    let hit = run.harness.breakpoints[0].set(steps);
    let asked = async { tokio::join!(doomed.post(&path, ""), timeout(COMES_WITHIN, hit)) };
    let (answer, hit) = run.event_log.fault(WHAT, Hit::Nobody, asked).await;
    assert!(may_be_dying(&answer) && hit.is_ok(), "the intake lived: {answer:?}");
    let again = answered(|| client.post(&path, "")).await;
    assert_eq!(again.status, 200, "{again:?}");
}
