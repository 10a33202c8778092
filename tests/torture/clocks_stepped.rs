use std::time::{Duration, Instant};

use dripfeed_tests::service::until;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::{Harness, STEADY_LEASE};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::wall_clock::WallClock;
use tokio::time::{sleep, sleep_until};

use crate::rows::Order;

const WHAT: &str = "clock stepped while throttled";
/// What the upstream asks for, in seconds.
const HOLD: u64 = 5;
/// In seconds: far beyond the throttle, and back by less than it. Jobs that are parked wait for the clock that was put
/// back, so it isn't put back by what a bucket may not take to drain.
const STEPS: [i64; 2] = [600, -2];
/// Maximum time that a call may be under way which was granted before the throttle.
const GRANTED_BEFORE: Duration = Duration::from_secs(1);
/// From the end of the throttle until calls are made again. What passed since a replica last looked at it, up to a
/// second, counts as nothing where the clock was stepped.
const WORKS_WITHIN: Duration = Duration::from_secs(5);

pub async fn run(order: Order) -> Report {
    let clock = WallClock::new();
    let mut setup = order.setup();
    setup.server.environment = clock.environment();
    setup.max_hold = Duration::from_mins(1);
    setup.lease = STEADY_LEASE;
    setup.patient = true;
    let run = Run::begin(setup).await;
    let (mut ahead, mut wrong) = (0, Vec::new());
    for (number, step) in (0..order.faults).zip(STEPS.into_iter().cycle()) {
        run.until_fault(number, order.faults).await;
        let before = held_until(&run.harness).await;
        let throttled = run.harness.upstream.throttles(HOLD).await;
        until("the bucket holds", async || held_until(&run.harness).await != before).await;
        sleep(GRANTED_BEFORE).await;
        ahead += step;
        run.event_log.fault(WHAT, Hit::Nobody, async { clock.set_ahead(ahead) }).await;
        let stepped = Instant::now();
        let over = throttled + Duration::from_secs(HOLD);
        sleep_until(over.into()).await;
        let calls = run.harness.upstream.calls().into_iter().map(|call| call.at);
        let early: Vec<_> = calls.filter(|at| *at > stepped && *at < over).map(|at| over - at).collect();
        if let Some(first) = early.first() {
            let calls = early.len();
            wrong.push(format!(
                "{calls} calls while throttled, {first:?} early, after the clock was stepped by {step} s"
            ));
        }
        let took = run.recovers(over).await;
        if took > WORKS_WITHIN * order.slack() {
            wrong.push(format!("calls came {took:?} after the throttle, the clock having been stepped by {step} s"));
        }
    }
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates == 0, || format!("{duplicates} duplicates, though nobody was touched but the clock"));
    report.violations.extend(wrong);
    report
}

/// In ms of the Redis clock.
async fn held_until(harness: &Harness) -> Option<u64> {
    harness.ask(&["HGET", &Harness::key("pace"), "hold"]).await
}
