use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::Harness;
use dripfeed_tests::torture::process_slot::ProcessSlot;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::upstream::Upstream;
use futures::future::join_all;

use crate::redefined::{Redefined, Round};
use crate::rows::Order;

/// Names that come and go, and how often at least.
const NAMES: usize = 4;
const LIVES: usize = 4;

/// Beside the load, buckets are created, replaced, used and deleted repeatedly under a few names, while intakes and
/// processors die. Each time the upstream is another path, and jobs say which one they were submitted for.
pub async fn run(order: Order) -> Report {
    let upstream = Upstream::willing().await;
    let mut setup = order.setup();
    let allowed = upstream.url().trim_end_matches("/feed").to_owned();
    setup.sections = format!("[define]\nupstreams = [\"{allowed}\"]\nallow_private = true\n");
    let run = Run::begin(setup).await;
    let harness = Arc::clone(&run.harness);
    let over = AtomicBool::new(false);
    let redefining = join_all((0..NAMES).map(|name| redefine(&harness, &upstream, name, &over)));
    let faults = async {
        let mut draw = run.jobs.draw(0, 24);
        for fault in 0..order.faults {
            run.until_fault(fault, order.faults).await;
            let slots: Vec<&ProcessSlot> = harness.slots().collect();
            let victim = draw.usize(0..slots.len());
            slots[victim].ready().await;
            let hit = victim.checked_sub(harness.setup.intakes).map_or(Hit::Nobody, Hit::Processor);
            run.event_log.fault("kill -9 a process", hit, slots[victim].kill()).await;
            run.recovers(Instant::now()).await;
        }
        over.store(true, Ordering::SeqCst);
    };
    let (rounds, ()) = tokio::join!(redefining, faults);
    let mut report = run.finish().await;
    let rounds: Vec<Round> = rounds.into_iter().flatten().collect();
    check(&rounds, &upstream, &mut report);
    report
}

async fn redefine(harness: &Harness, upstream: &Upstream, name: usize, over: &AtomicBool) -> Vec<Round> {
    let redefined = Redefined::new(harness, upstream, format!("name-{name}"));
    let mut rounds = Vec::new();
    while rounds.len() < LIVES || !over.load(Ordering::SeqCst) {
        rounds.push(redefined.round(rounds.len()).await);
    }
    rounds
}

fn check(rounds: &[Round], upstream: &Upstream, report: &mut Report) {
    let mut called: BTreeMap<String, u32> = BTreeMap::new();
    for call in upstream.calls() {
        let (path, submitted_for) = (call.uri.path(), call.text().split(' ').next().unwrap_or_default());
        let is_right =
            path.strip_prefix("/feed/").is_some_and(|path| path.trim_end_matches("/replaced") == submitted_for);
        report.must(is_right, || format!("a job of `{}` was called at {path}", call.text()));
        *called.entry(call.text().to_owned()).or_default() += 1;
    }
    report.note("buckets that came and went", rounds.len() as u64);
    report.note("jobs of theirs", rounds.iter().map(|round| round.jobs.len() as u64).sum());
    let mut ids = std::collections::BTreeSet::new();
    for round in rounds {
        report.violations.extend(round.wrong.iter().cloned());
        for (body, id) in &round.jobs {
            report.must(ids.insert((round.name.clone(), id.clone())), || {
                format!("`{body}` was answered {id} of an earlier one")
            });
            let lost = !round.is_purged && !called.contains_key(body);
            report.must(!lost, || format!("`{body}` was accepted as {id} and lost"));
        }
    }
}
