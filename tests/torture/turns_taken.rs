use std::sync::Arc;
use std::time::Instant;

use dripfeed_tests::service::until;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::Harness;
use dripfeed_tests::torture::jobs::{GROUPS, PRIORITIES};
use dripfeed_tests::torture::monitor::Monitor;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::torture::turns::{self, Flow, place_of};
use dripfeed_tests::wall_clock::WallClock;

use crate::rows::Order;

const FAIR: &str = "fair.by = \"group\"\nfair.weights = { g1 = 3, g2 = 2 }";
const WEIGHTS: [u64; GROUPS] = [1, 3, 2, 1, 1, 1, 1, 1, 1, 1];
/// Beyond the backlog that all callers have together.
const ROOM: u32 = 1000;
/// In seconds. Jobs that are parked wait for a clock that was put back.
const STEPS: [i64; 2] = [600, -2];

#[derive(Clone, Copy)]
enum Fault {
    KillProcessor,
    StepClock,
    DeleteIndex,
}

const FAULTS: [Fault; 4] = [Fault::KillProcessor, Fault::StepClock, Fault::DeleteIndex, Fault::KillProcessor];

/// Ten groups have a backlog of all priorities before the first call. Meanwhile processors die, Redis' clock is
/// stepped, and the index of whose turn it is is deleted by hand.
pub async fn run(order: Order) -> Report {
    let clock = WallClock::new();
    let mut setup = order.setup();
    setup.server.environment = clock.environment();
    (setup.fair, setup.paused) = (FAIR, true);
    setup.capacity = ROOM + u32::try_from(order.load.jobs).expect("no more than a bucket holds");
    // Takes of a few jobs each, for many of them; and no more a second than so few calls at once can be, some of which
    // time out.
    (setup.rate, setup.burst, setup.concurrency) = (200, 40, 5);
    let run = Run::begin(setup).await;
    let socket = run.harness.redis.lock().await.folder().join("redis.sock");
    let monitor = Monitor::of(&socket, turns::read).await;
    run.driver.reached(order.load.jobs).await;
    run.harness.operate("resume").await;

    let (mut draw, mut ahead, mut steps) = (run.jobs.draw(0, 20), 0, STEPS.into_iter().cycle());
    for (number, fault) in (0..order.faults).zip(FAULTS.into_iter().cycle()) {
        // While all of them wait: one with the weight 3 is the first that doesn't.
        let calls = order.load.jobs * u64::from(number + 1) / u64::from(order.faults + 1) / 3;
        until("calls are made", async || run.harness.upstream.count() as u64 > calls).await;
        match fault {
            Fault::KillProcessor => run.kill_processor(&mut draw).await,
            Fault::StepClock => {
                ahead += steps.next().unwrap_or_default();
                run.event_log.fault("clock stepped", Hit::Nobody, async { clock.set_ahead(ahead) }).await;
            }
            Fault::DeleteIndex => {
                let deleted =
                    async { run.harness.ask(&["DEL", &Harness::key("flows"), &Harness::key("ranges")]).await };
                let () = run.event_log.fault("index deleted", Hit::Nobody, deleted).await;
            }
        }
        run.recovers(Instant::now()).await;
    }
    let (harness, jobs) = (Arc::clone(&run.harness), run.jobs);
    let mut report = run.finish().await;
    let flow_of = |number| Flow { priority: place_of(jobs.priority(number)), group: jobs.group_number(number) };
    let numbered = harness.upstream.calls().into_iter().filter_map(|call| Some((call.job, flow_of(call.number?))));
    let seen = turns::check(&monitor.seen(), &WEIGHTS, &numbered.collect());
    report.note("takes after which calls of groups that wait were compared", seen.takes);
    report.note("calls of groups that wait", seen.calls);
    report.note("farthest that two groups were apart, in percent of what they may be", seen.farthest_apart);
    report.note("priorities of which jobs were called, the higher ones first", seen.priorities as u64);
    report.must(seen.priorities == PRIORITIES.len(), || format!("jobs of {} priorities were called", seen.priorities));
    report.must(seen.calls >= order.load.jobs / 3, || format!("{} calls were compared", seen.calls));
    report.violations.extend(seen.violations.into_iter().take(5));
    report
}
