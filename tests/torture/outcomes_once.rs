use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dripfeed_tests::service::until;
use dripfeed_tests::torture::breakpoint::{BreakpointAction, Step};
use dripfeed_tests::torture::event_log::{Hit, LoggedFault};
use dripfeed_tests::torture::harness::{Harness, STEADY_LEASE};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::upstream::{Answer, Upstream};
use futures::future::select_all;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::rows::Order;

/// The most outcome jobs that wait, and the capacity of the bucket that is given them.
const MOST_OUTBOX: u64 = 300;
const CAPACITY: u64 = 200;
const REDIS_FULL: Duration = Duration::from_secs(2);
/// Between two looks at what waits.
const SAMPLE: Duration = Duration::from_millis(20);
/// For a step to come: somebody hands outcomes over as long as there are calls.
const COMES_WITHIN: Duration = Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Fault {
    /// Of the process that hands outcomes over.
    KillAt(Step),
    KillProcessor,
    RedisFull,
}

const FAULTS: [Fault; 5] = [
    Fault::KillAt(Step::Before("handed_over")),
    Fault::RedisFull,
    Fault::KillProcessor,
    Fault::KillAt(Step::After("handed_over")),
    Fault::KillAt(Step::Before("handed_over")),
];

/// Each end of a job makes one job of another bucket, which is slower and often full.
pub async fn run(order: Order) -> Report {
    // One of ten isn't accepted at first.
    let webhook = Upstream::start(|call| async move {
        Answer::Status(if call.attempt == 1 && call.job.ends_with('7') { 503 } else { 200 })
    })
    .await;
    let mut setup = order.setup();
    setup.lease = STEADY_LEASE / 2;
    setup.settings = format!(
        "on_outcome = {{ bucket = \"webhook\", outcomes = [\"delivered\", \"dead\", \"expired\", \"cancelled\"] }}\n\
         keep.most_outbox = {MOST_OUTBOX}"
    );
    setup.sections = format!(
        "[buckets.webhook]\nupstream = \"{}\"\ncapacity = {CAPACITY}\nleak = {{ concurrency = 20 }}\n\
         retry = {{ attempts = 20, first = \"20ms\", max = \"200ms\" }}\nkeep.most_idempotency_keys = 10000000",
        webhook.url()
    );
    let run = Run::begin(setup).await;
    let harness = Arc::clone(&run.harness);
    let highest: Arc<[AtomicU64; 2]> = Arc::default();
    let sampling = AbortOnDropHandle::new(tokio::spawn(sample(Arc::clone(&harness), Arc::clone(&highest))));
    let mut draw = run.jobs.draw(0, 23);
    let mut wrong = Vec::new();
    for (number, fault) in (0..order.faults).zip(FAULTS.into_iter().cycle()) {
        run.until_fault(number, order.faults).await;
        match fault {
            Fault::KillAt(step) => wrong.extend(killed_at(&run, step).await),
            Fault::KillProcessor => run.kill_processor(&mut draw).await,
            Fault::RedisFull => {
                let full = async {
                    let () = harness.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
                    sleep(REDIS_FULL).await;
                    harness.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
                };
                run.event_log.fault("maxmemory reached", Hit::Nobody, full).await;
            }
        }
        run.recovers(Instant::now()).await;
    }
    let mut report = run.finish().await;
    until("all outcomes are handed over", async || waiting(&harness).await == [0, 0]).await;
    drop(sampling);
    report.violations.extend(wrong);
    let [outbox, level] = [0, 1].map(|of| highest[of].load(Ordering::SeqCst));
    report.note("outcome jobs that waited, at most", outbox);
    report.must(outbox <= MOST_OUTBOX, || format!("{outbox} outcome jobs waited, {MOST_OUTBOX} may"));
    report.must(level <= CAPACITY, || format!("{level} jobs were in a bucket of {CAPACITY}"));
    let ended: Vec<String> = harness.ask(&["HKEYS", &Harness::key("outcomes")]).await;
    one_of_each(ended.into_iter().collect(), &webhook, &mut report);
    report
}

/// Kills the first process, intakes included, that comes to this step.
async fn killed_at(run: &Run, step: Step) -> Option<String> {
    for slot in run.harness.slots() {
        slot.ready().await;
    }
    let (from, slots) = (Instant::now(), run.harness.slots().collect::<Vec<_>>());
    let lives: Vec<u32> = slots.iter().map(|slot| slot.lives()).collect();
    let armed = run.harness.breakpoints.iter().map(|breakpoints| breakpoints.set([(step, BreakpointAction::Kill)]));
    let hit = timeout(COMES_WITHIN, select_all(armed.collect::<Vec<_>>())).await;
    run.harness.breakpoints.iter().for_each(|breakpoints| drop(breakpoints.set([])));
    let Ok((_, victim, _)) = hit else { return Some(format!("{step:?} didn't come within {COMES_WITHIN:?}")) };
    until("it is dead", async || slots[victim].lives() > lives[victim]).await;
    let hit = victim.checked_sub(run.harness.setup.intakes).map_or(Hit::Nobody, Hit::Processor);
    let what = "kill -9 what hands outcomes over";
    run.event_log.note(LoggedFault { what, hit, from, until: Instant::now() });
    None
}

/// Outcome jobs in the outbox, and in their bucket.
async fn waiting(harness: &Harness) -> [u64; 2] {
    [harness.ask(&["XLEN", &Harness::key("outbox")]).await, harness.ask(&["XLEN", "dripfeed:{webhook}:jobs"]).await]
}

async fn sample(harness: Arc<Harness>, highest: Arc<[AtomicU64; 2]>) {
    loop {
        for (waiting, highest) in waiting(&harness).await.into_iter().zip(&*highest) {
            highest.fetch_max(waiting, Ordering::SeqCst);
        }
        sleep(SAMPLE).await;
    }
}

/// Each job that ended has one outcome job, and no other job has any.
fn one_of_each(ended: BTreeSet<String>, webhook: &Upstream, report: &mut Report) {
    let mut reported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in webhook.calls() {
        let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let id = body["id"].as_str().unwrap_or_default().to_owned();
        reported.entry(id).or_default().insert(call.job);
    }
    report.note("outcome jobs", reported.len() as u64);
    let without: Vec<_> = ended.iter().filter(|id| !reported.contains_key(*id)).collect();
    report.must(without.is_empty(), || {
        format!("{} jobs ended without an outcome job, such as {:?}", without.len(), without.first())
    });
    let doubled: Vec<_> = reported.iter().filter(|(_, jobs)| jobs.len() > 1).collect();
    report.must(doubled.is_empty(), || {
        format!("{} jobs have several outcome jobs, such as {:?}", doubled.len(), doubled.first())
    });
    let unknown: Vec<_> = reported.keys().filter(|id| !ended.contains(*id)).collect();
    report.must(unknown.is_empty(), || format!("outcome jobs of jobs that haven't ended: {unknown:?}"));
}
