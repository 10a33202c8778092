use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use dripfeed_job::JobId;
use dripfeed_tests::service::until;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::{Harness, STEADY_LEASE};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;

use crate::rows::Order;

const WHAT: &str = "a settlement that Redis refuses";
/// More than Lua unpacks in one call, and more than a letter keeps.
const FIELDS: usize = 4000;
/// Of an entry's names and values, what a letter keeps.
const KEPT: usize = 200;
/// Ordinary jobs that are settled while one can't be.
const OTHERS: u64 = 100;

/// Puts the letters aside, where there are some, and another key in their place. In one step: where the letters are
/// missing, what is known of them is forgotten.
const BLOCK: &str = "local has_letters = redis.call('EXISTS', KEYS[1])
    if has_letters == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
    redis.call('SET', KEYS[1], 'no stream')
    return has_letters";

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
            .event_log
            .fault(WHAT, Hit::Nobody, async {
                match fault % 2 {
                    0 => add(&run.harness, &entry).await,
                    _ => refused(&run.harness, &entry).await,
                }
            })
            .await;
        is_gone(&run.harness, &id).await;
        entries.insert(id.parse::<JobId>().expect("an id"), entry);
    }
    run.lenience.foreign = entries.keys().copied().collect();
    let harness = Arc::clone(&run.harness);
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates == 0, || format!("{duplicates} duplicates, though no processor was touched"));
    buried_whole(&harness, &entries, &mut report).await;
    report
}

async fn add(harness: &Harness, entry: &[String]) -> String {
    let key = Harness::key("jobs");
    let mut words = vec!["XADD", key.as_str(), "*"];
    words.extend(entry.iter().map(String::as_str));
    harness.ask(&words).await
}

/// No letter can be written: the entry stays, and the others are settled.
async fn refused(harness: &Harness, entry: &[String]) -> String {
    let (dead, aside) = (Harness::key("dead"), Harness::key("dead:aside"));
    let has_letters = harness.ask::<u64>(&["EVAL", BLOCK, "2", &dead, &aside]).await == 1;
    let id = add(harness, entry).await;
    let goal = delivered(harness).await + OTHERS;
    until("the others are settled", async || delivered(harness).await >= goal).await;
    assert!(is_there(harness, &id).await, "{id} has left the bucket, and no letter can be written");
    // In one step: a letter that is written in between would be replaced with the key.
    if has_letters {
        let () = harness.ask(&["RENAME", &aside, &dead]).await;
    } else {
        let _: u64 = harness.ask(&["DEL", &dead]).await;
    }
    id
}

async fn delivered(harness: &Harness) -> u64 {
    harness.ask::<Option<u64>>(&["HGET", &Harness::key("tally"), "delivered"]).await.unwrap_or(0)
}

async fn is_there(harness: &Harness, id: &str) -> bool {
    let found: Vec<redis::Value> = harness.ask(&["XRANGE", &Harness::key("jobs"), id, id]).await;
    !found.is_empty()
}

async fn is_gone(harness: &Harness, id: &str) {
    until("the entry is buried", async || !is_there(harness, id).await).await;
}

async fn buried_whole(harness: &Harness, entries: &BTreeMap<JobId, Vec<String>>, report: &mut Report) {
    // Of an ordinary job that died the body is no text.
    let letters: Vec<(String, Vec<Bytes>)> = harness.ask(&["XRANGE", &Harness::key("dead"), "-", "+"]).await;
    let mut seen = BTreeSet::new();
    for (letter, fields) in letters {
        let fields: Vec<_> = fields.iter().map(|field| String::from_utf8_lossy(field)).collect();
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
