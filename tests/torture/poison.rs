use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dripfeed_job::JobId;
use dripfeed_tests::torture::event_log::{Hit, LoggedFault};
use dripfeed_tests::torture::harness::{BUCKET, Harness};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::torture::upstream::Call;

use crate::rows::Order;

const DELIVERIES: u32 = 5;
/// They kill as long as the run lasts.
const TO_THE_END: Duration = Duration::from_hours(1);

/// Entries that can't be read, one for every thousand jobs; and jobs that kill their processor.
pub async fn run(order: Order) -> Report {
    let entries = order.load.jobs.div_ceil(1000);
    let mut setup = order.setup();
    setup.deliveries = DELIVERIES;
    // What hangs beside a killer for long enough can't be known from it.
    setup.prompt = true;
    setup.deadly = (1..=u64::from(order.faults)).map(|n| order.load.jobs * n / u64::from(order.faults + 1)).collect();
    let deadly = setup.deadly.clone();
    let mut run = Run::begin(setup).await;
    let mut unreadable = BTreeSet::new();
    let begun = Instant::now();
    for entry in 0..entries {
        run.driver.reached(order.load.jobs * entry / entries * 9 / 10).await;
        let fields: &[&str] = match entry % 3 {
            0 => &["body", "a place that isn't the upstream's", "path", "http://elsewhere/"],
            1 => &["body", "headers that aren't JSON", "headers", "{"],
            _ => &["nothing", "that is known"],
        };
        let key = Harness::key("jobs");
        let id: String = run.harness.ask(&[&["XADD", key.as_str(), "*"], fields].concat()).await;
        unreadable.insert(id.parse::<JobId>().expect("an id"));
    }
    run.driver.reached(order.load.jobs).await;
    run.event_log.note(LoggedFault {
        what: "a job that kills its processor",
        hit: Hit::Everybody,
        from: begun,
        until: Instant::now() + TO_THE_END,
    });
    run.lenience.poison = deadly.clone();
    run.lenience.foreign = unreadable.clone();
    let harness = Arc::clone(&run.harness);
    let mut report = run.finish().await;
    buried_once(&harness, &unreadable, &deadly, &mut report).await;
    report
}

async fn buried_once(harness: &Harness, unreadable: &BTreeSet<JobId>, deadly: &BTreeSet<u64>, report: &mut Report) {
    let (mut read, mut killers, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let letters: Vec<(String, Vec<String>)> = {
        let raw: Vec<(String, Vec<redis::Value>)> = harness.ask(&["XRANGE", &Harness::key("dead"), "-", "+"]).await;
        let text = |value: redis::Value| match value {
            redis::Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            _ => String::new(),
        };
        raw.into_iter().map(|(id, fields)| (id, fields.into_iter().map(text).collect())).collect()
    };
    for (letter, fields) in letters {
        let field = |name: &str| {
            let at = fields.iter().position(|field| field == name).expect("every letter has it");
            fields[at + 1].clone()
        };
        let (job, reason) = (field("job").parse::<JobId>().expect("an id"), field("reason"));
        if unreadable.contains(&job) {
            read.push(job);
        } else if reason.contains("it seems to kill its processor") {
            killers.push((job, letter.parse::<JobId>().expect("an id").accepted_ms()));
        } else if !reason.contains("attempts") {
            others.push((job, reason));
        }
    }
    let once: BTreeSet<_> = read.iter().copied().collect();
    report.note("unreadable entries", unreadable.len() as u64);
    report.note("jobs that kill their processor", deadly.len() as u64);
    report.must(read.len() == unreadable.len() && once == *unreadable, || {
        format!("{} of {} unreadable entries of {BUCKET} are buried", read.len(), unreadable.len())
    });
    killers_are_buried(&harness.upstream.calls(), &killers, deadly, report);
    report.must(others.is_empty(), || format!("buried for other reasons: {others:?}"));
}

/// `buried`: jobs that were buried as killers, and when. Each killer is, once. Another job may be, too, when it was in
/// the bucket as often as several killers killed, together as often as a job may be delivered: beside a single one it
/// may not.
fn killers_are_buried(calls: &[Call], buried: &[(JobId, u64)], deadly: &BTreeSet<u64>, report: &mut Report) {
    let numbers: HashMap<JobId, u64> = calls.iter().filter_map(|call| Some((call.job, call.number?))).collect();
    let is_killer = |job: &JobId| numbers.get(job).is_some_and(|number| deadly.contains(number));
    let mut killers: Vec<JobId> = buried.iter().map(|(job, _)| *job).filter(is_killer).collect();
    let letters = killers.len();
    killers.sort_unstable();
    killers.dedup();
    report.must(killers.len() == deadly.len() && letters == deadly.len(), || {
        format!("{letters} letters of {} killers, {} jobs kill", killers.len(), deadly.len())
    });
    for (job, at) in buried.iter().filter(|(job, _)| !is_killer(job)) {
        let beside = |call: &&Call| is_killer(&call.job) && (job.accepted_ms()..=*at).contains(&call.wall_ms);
        let deaths: Vec<JobId> = calls.iter().filter(beside).map(|call| call.job).collect();
        let killers: BTreeSet<&JobId> = deaths.iter().collect();
        report.note("jobs that were buried beside several killers", 1);
        report.must(killers.len() > 1 && deaths.len() >= DELIVERIES as usize, || {
            format!("{job} was buried as a killer; while it was there, {} killers killed: {deaths:?}", killers.len())
        });
    }
}
