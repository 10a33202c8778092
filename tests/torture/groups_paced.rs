use std::sync::Arc;
use std::time::{Duration, Instant};

use dripfeed_tests::service::until;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::group_pace::{self, GroupPace};
use dripfeed_tests::torture::jobs::GROUPS;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::wall_clock::WallClock;

use crate::rows::Order;

const FAIR: &str = r#"fair.by = "group"
fair.rate = "60/s"
fair.burst = 30
fair.max_in_flight = 4
fair.flows.g0 = { burst = 10, max_in_flight = 2 }
fair.flows.g1 = { weight = 3, max_in_flight = 3 }
fair.flows.g2 = { tiers = [{ rate = "3000/m", burst = 40 }] }"#;
const EACH: GroupPace = GroupPace { rate: 60, burst: 30, tier: None, most: 4 };
const STEPS: [i64; 2] = [600, -2];
const LATE: Duration = Duration::from_millis(300);
/// Calls of all groups while replies are late.
const CALLS_MEANWHILE: usize = 100;
/// Few enough that the group that waits longest is called within the time for a drain.
const CAPACITY: u32 = 600;

#[derive(Clone, Copy)]
enum Fault {
    KillProcessor,
    StepClock,
    LateReplies,
}

const FAULTS: [Fault; 4] = [Fault::KillProcessor, Fault::StepClock, Fault::LateReplies, Fault::KillProcessor];

/// Each of ten groups has a rate and a bound of calls under way, and more jobs than it may have calls.
pub async fn run(order: Order) -> Report {
    let clock = WallClock::new();
    let mut setup = order.setup();
    setup.server.environment = clock.environment();
    (setup.fair, setup.prompt, setup.capacity) = (FAIR, true, CAPACITY);
    (setup.response_timeout, setup.lease) = (Duration::from_secs(1), Duration::from_secs(4));
    let run = Run::begin(setup).await;
    let (mut draw, mut ahead, mut steps) = (run.jobs.draw(0, 21), 0, STEPS.into_iter().cycle());
    for (number, fault) in (0..order.faults).zip(FAULTS.into_iter().cycle()) {
        run.until_fault(number, order.faults).await;
        match fault {
            Fault::KillProcessor => run.kill_processor(&mut draw).await,
            Fault::StepClock => {
                ahead += steps.next().unwrap_or_default();
                run.event_log.fault("clock stepped", Hit::Nobody, async { clock.set_ahead(ahead) }).await;
            }
            Fault::LateReplies => {
                // A reply that comes too late for its processor is lost.
                run.event_log.fault("replies are late", Hit::Everybody, late_replies(&run)).await;
            }
        }
        run.recovers(Instant::now()).await;
    }
    let (harness, jobs) = (Arc::clone(&run.harness), run.jobs);
    let mut report = run.finish().await;
    let mut paces = [EACH; GROUPS];
    paces[0] = GroupPace { burst: 10, most: 2, ..EACH };
    paces[1].most = 3;
    paces[2].tier = Some((50, 40));
    group_pace::check(&harness.upstream.calls(), jobs, &paces, &mut report);
    report
}

async fn late_replies(run: &Run) {
    let proxies = &run.harness.proxies[run.harness.setup.intakes..];
    let calls = run.harness.upstream.count();
    proxies.iter().for_each(|proxy| proxy.answers_late(LATE));
    until("calls are made", async || run.harness.upstream.count() >= calls + CALLS_MEANWHILE).await;
    proxies.iter().for_each(|proxy| proxy.answers_late(Duration::ZERO));
}
