use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dripfeed_job::JobId;
use dripfeed_tests::service::until;
use dripfeed_tests::torture::chronicle::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::torture::stage::{STEADY_LEASE, Stage};

use crate::rows::Order;

const WHAT: &str = "a settlement that Redis refuses";
/// More than Lua unpacks in one call, and more than a letter keeps.
const FIELDS: usize = 4000;
/// Of an entry's names and values, what a letter keeps.
const KEPT: usize = 200;
/// Ordinary jobs that are settled while one can't be.
const OTHERS: u64 = 100;

/// Entries to bury beside ordinary jobs: some have thousands of fields, others can't be buried for a while.
pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = STEADY_LEASE;
    let mut run = Run::begin(setup).await;
    let mut entries = BTreeMap::new();
    for fault in 0..order.faults {
        run.until_fault(fault, order.faults).await;
        let fields = if fault % 2 == 0 { FIELDS } else { 1 };
        let entry: Vec<String> = (0..fields).flat_map(|n| [format!("field-{n}"), format!("value-{n}")]).collect();
        let id = run
            .chronicle
            .fault(WHAT, Hit::Nobody, async {
                match fault % 2 {
                    0 => add(&run.stage, &entry).await,
                    _ => refused(&run.stage, &entry).await,
                }
            })
            .await;
        is_gone(&run.stage, &id).await;
        entries.insert(id.parse::<JobId>().expect("an id"), entry);
    }
    run.lenience.foreign = entries.keys().copied().collect();
    let stage = Arc::clone(&run.stage);
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates == 0, || format!("{duplicates} duplicates, though no processor was touched"));
    buried_whole(&stage, &entries, &mut report).await;
    report
}

async fn add(stage: &Stage, entry: &[String]) -> String {
    let key = Stage::key("jobs");
    let mut words = vec!["XADD", key.as_str(), "*"];
    words.extend(entry.iter().map(String::as_str));
    stage.ask(&words).await
}

/// No letter can be written: the entry stays, and the others are settled.
async fn refused(stage: &Stage, entry: &[String]) -> String {
    let (dead, aside) = (Stage::key("dead"), Stage::key("dead:aside"));
    let has_letters = stage.ask::<u64>(&["EXISTS", &dead]).await == 1;
    if has_letters {
        let () = stage.ask(&["RENAME", &dead, &aside]).await;
    }
    let () = stage.ask(&["SET", &dead, "no stream"]).await;
    let id = add(stage, entry).await;
    let goal = delivered(stage).await + OTHERS;
    until("the others are settled", async || delivered(stage).await >= goal).await;
    assert!(is_there(stage, &id).await, "{id} has left the bucket, and no letter can be written");
    // In one step: a letter that is written in between would be replaced with the key.
    if has_letters {
        let () = stage.ask(&["RENAME", &aside, &dead]).await;
    } else {
        let _: u64 = stage.ask(&["DEL", &dead]).await;
    }
    id
}

async fn delivered(stage: &Stage) -> u64 {
    stage.ask::<Option<u64>>(&["HGET", &Stage::key("tally"), "delivered"]).await.unwrap_or(0)
}

async fn is_there(stage: &Stage, id: &str) -> bool {
    let found: Vec<redis::Value> = stage.ask(&["XRANGE", &Stage::key("jobs"), id, id]).await;
    !found.is_empty()
}

async fn is_gone(stage: &Stage, id: &str) {
    until("the entry is buried", async || !is_there(stage, id).await).await;
}

async fn buried_whole(stage: &Stage, entries: &BTreeMap<JobId, Vec<String>>, report: &mut Report) {
    let letters: Vec<(String, Vec<String>)> = stage.ask(&["XRANGE", &Stage::key("dead"), "-", "+"]).await;
    let mut seen = BTreeSet::new();
    for (letter, fields) in letters {
        let Some(entry) = fields.get(1).and_then(|id| id.parse().ok()).filter(|id| entries.contains_key(id)) else {
            continue;
        };
        report.must(seen.insert(entry), || format!("{entry} is buried more than once"));
        let (kept, whole) = (fields.get(6..).unwrap_or_default(), &entries[&entry]);
        report.must(kept == &whole[..whole.len().min(KEPT)], || format!("the letter {letter} isn't all of {entry}"));
    }
    report.note("entries that were hard to bury", entries.len() as u64);
    report.must(seen.len() == entries.len(), || format!("{} of {} entries are buried", seen.len(), entries.len()));
}
