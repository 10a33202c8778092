use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dripfeed_job::JobId;
use dripfeed_tests::client::ClientResponse;
use dripfeed_tests::service::until;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::{BUCKET, Harness, STEADY_LEASE};
use dripfeed_tests::torture::process_slot::ProcessSlot;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::torture::upstream::{Call, SCHEDULE};
use dripfeed_tests::wall_clock::WallClock;
use http::Method;
use serde_json::json;

use crate::rows::Order;

/// What each says of ticks that got no job in time; all tick every second.
const SCHEDULES: [(&str, &str); 4] =
    [("all-1", "all"), ("all-2", "all"), ("latest-1", "latest"), ("latest-2", "latest")];
/// In seconds. Ahead, as many ticks come at once: no more than are submitted later.
const STEPS: [i64; 2] = [30, -2];
const INTAKES: usize = 3;
/// Ticks before the first fault, and between two.
const TICKS: usize = SCHEDULES.len() * 2;

/// Three intakes submit the jobs of the same schedules, into a bucket that is full most of the time.
pub async fn run(order: Order) -> Report {
    let clock = WallClock::new();
    let mut setup = order.setup();
    setup.server.environment = clock.environment();
    setup.intakes = INTAKES;
    setup.lease = STEADY_LEASE;
    // More jobs come than are called.
    (setup.rate, setup.burst, setup.capacity) = (300, 100, 200);
    let run = Run::begin(setup).await;
    let mut begun = BTreeMap::new();
    for (name, missed) in SCHEDULES {
        let definition = json!({
            "every": "1s", "missed": missed, "job": { "body": name, "options": { "forward": { SCHEDULE: name } } },
        });
        begun.insert(name, ask(&run.harness, Method::PUT, name, &definition.to_string()).await);
    }
    let (mut draw, mut ahead) = (run.jobs.draw(0, 22), 0);
    let mut steps = STEPS.into_iter().cycle();
    for fault in 0..order.faults {
        let before = ticks(&run.harness);
        until("ticks have their jobs", async || ticks(&run.harness) >= before + TICKS).await;
        if fault % 3 == 1 {
            ahead += steps.next().unwrap_or_default();
            run.event_log.fault("clock stepped", Hit::Nobody, async { clock.set_ahead(ahead) }).await;
        } else {
            let slot = &run.harness.intakes[draw.usize(0..INTAKES)];
            slot.ready().await;
            run.event_log.fault("kill -9 an intake", Hit::Nobody, slot.kill()).await;
        }
    }
    let before = ticks(&run.harness);
    until("ticks have their jobs", async || ticks(&run.harness) >= before + TICKS).await;
    // Nothing comes any more after the pause. What the schedule shows before is of one moment: of each tick up to then
    // it is known whether it has a job or was missed.
    let (mut ended, mut paused) = (BTreeMap::new(), BTreeMap::new());
    for (name, _) in SCHEDULES {
        ended.insert(name, ask(&run.harness, Method::GET, name, "").await);
        paused.insert(name, ask(&run.harness, Method::POST, &format!("{name}/pause"), "").await);
    }
    let harness = Arc::clone(&run.harness);
    let mut report = run.finish().await;
    for (name, _) in SCHEDULES {
        let shown = [&begun[name], &ended[name], &paused[name]];
        each_tick_once(name, shown, &harness.upstream.calls(), &mut report);
    }
    report
}

/// Ticks that have had a call.
fn ticks(harness: &Harness) -> usize {
    let calls = harness.upstream.calls();
    calls.iter().filter_map(|call| call.tick.as_ref()).collect::<BTreeSet<_>>().len()
}

/// Until an intake answers well.
async fn ask(harness: &Harness, method: Method, path: &str, body: &str) -> ClientResponse {
    let path = format!("/v1/buckets/{BUCKET}/schedules/{path}");
    loop {
        for client in harness.intakes.iter().filter_map(ProcessSlot::client) {
            let answer = client.call(client.request(method.clone(), &path), body.to_owned()).await;
            if let Ok(answer) = answer
                && answer.status != 503
            {
                assert_eq!(answer.status, 200, "{answer:?}");
                return answer;
            }
        }
        tokio::task::yield_now().await;
    }
}

/// From the next tick of `begun` to the one before the next tick of `ended`: each has one job, or was counted as
/// missed. No tick after the last one of `paused` has a job.
fn each_tick_once(name: &str, [begun, ended, paused]: [&ClientResponse; 3], calls: &[Call], report: &mut Report) {
    let mut jobs: BTreeMap<u64, BTreeSet<JobId>> = BTreeMap::new();
    for call in calls {
        if let Some((_, tick)) = call.tick.as_ref().filter(|(of, _)| of == name) {
            jobs.entry(seconds(tick)).or_default().insert(call.job);
        }
    }
    let doubled: Vec<_> = jobs.iter().filter(|(_, jobs)| jobs.len() > 1).collect();
    report.must(doubled.is_empty(), || format!("{name}: ticks with several jobs: {doubled:?}"));
    // Ticks may come, and get their jobs, before the definition is answered.
    let submitted = begun.json()["last_at"].as_str().map(seconds);
    let before = submitted.map_or(0, |last| jobs.range(..=last).count());
    let first = seconds(&begun.text("next_at"));
    let (next, last) = (seconds(&ended.text("next_at")), seconds(&paused.text("last_at")));
    let (missed, come) = (ended.number("missed_ticks") - begun.number("missed_ticks"), next - first);
    report.note("ticks", come);
    report.note("ticks that were missed", missed);
    let with_job = jobs.range(first..next).count();
    let after = jobs.range(next..next.max(last + 1)).count();
    report.must(before + with_job + after == jobs.len(), || {
        format!("{name}: jobs of ticks that never were, from {first} to {last}: {jobs:?}")
    });
    report.must(with_job as u64 + missed == come, || {
        let lost: Vec<u64> = (first..next).filter(|tick| !jobs.contains_key(tick)).collect();
        format!("{name}: of {come} ticks {with_job} had a job and {missed} were missed; without a job: {lost:?}")
    });
}

/// Since 1970, of a time in whole seconds.
fn seconds(at: &str) -> u64 {
    let at: jiff::Timestamp = at.parse().expect("a time");
    u64::try_from(at.as_second()).expect("a time after 1970")
}
