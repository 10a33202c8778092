use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use dripfeed_job::Outcome;

use super::{Ended, Outcomes, Seen};
use crate::torture::harness::Harness;
use crate::torture::ledger::Fate;
use crate::torture::report::Report;

const ENDINGS: [&str; 4] = ["delivered", "dead", "expired", "cancelled"];

/// The recorded outcomes of all jobs.
pub(super) async fn outcomes(harness: &Harness) -> Outcomes {
    let key = Harness::key("outcomes");
    let (mut outcomes, mut cursor) = (HashMap::new(), "0".to_owned());
    loop {
        let (next, page): (String, Vec<String>) = harness.ask(&["HSCAN", &key, &cursor, "COUNT", "1000"]).await;
        for pair in page.chunks_exact(2) {
            let (at_ms, record) = pair[1].split_once(' ').expect("a time and a record");
            // Lines of failed attempts may follow.
            let outcome = record.lines().next().and_then(Outcome::from_record).expect("a record");
            let ended = Ended {
                at_ms: at_ms.parse().expect("a time"),
                result: outcome.result.to_string(),
                reason: outcome.reason.unwrap_or_default(),
            };
            outcomes.insert(pair[0].parse().expect("an id"), ended);
        }
        if next == "0" {
            return outcomes;
        }
        cursor = next;
    }
}

pub(super) async fn check(seen: &Seen<'_>, ended: &Outcomes, report: &mut Report) {
    let harness = seen.harness;
    let pending: Vec<redis::Value> = harness.ask(&["XPENDING", &Harness::key("jobs"), "processors"]).await;
    let left: [u64; 4] = [
        harness.level().await,
        match pending.first() {
            Some(redis::Value::Int(pending)) => u64::try_from(*pending).unwrap_or(u64::MAX),
            other => panic!("XPENDING answered {other:?}"),
        },
        harness.ask(&["ZCARD", &Harness::key("parked")]).await,
        // Deleting the stream leaves the counts of attempts, which the doctor removes.
        if seen.lenience.wiped.is_some() { 0 } else { harness.ask(&["HLEN", &Harness::key("attempts")]).await },
    ];
    report.must(left == [0; 4], || format!("level, pending, parked and attempts at rest: {left:?}"));
    let members = members(harness).await;
    report.must(members == harness.processors.len(), || format!("{members} replicas are members"));
    if seen.lenience.wiped.is_some() {
        // Counters, or the counted outcomes, were deleted, too.
        return;
    }

    let tally: BTreeMap<String, i64> = harness.ask(&["HGETALL", &Harness::key("tally")]).await;
    let total = |name: &str| tally.get(name).copied().unwrap_or(0);
    let ends: i64 = ENDINGS.iter().map(|ending| total(ending)).sum();
    let foreign = i64::try_from(seen.lenience.foreign.len()).expect("few");
    report.must(total("accepted") + foreign == ends, || format!("accepted and ended differ: {tally:?}"));
    report.must(total("bytes") == 0, || format!("bytes at rest: {tally:?}"));
    // An outcome that was recorded twice would be counted twice, but exist once.
    for ending in ENDINGS {
        let recorded = ended.values().filter(|ended| ended.result == ending).count();
        report.must(usize::try_from(total(ending)) == Ok(recorded), || {
            format!("{recorded} jobs are {ending}, {} were counted", total(ending))
        });
    }
    // The number of stored jobs, and of those with an unknown result.
    let unknown: u64 = seen.submitted.iter().map(|submitted| u64::from(submitted.unknown_tries)).sum();
    let stored = seen.submitted.iter().filter(|submitted| matches!(submitted.fate, Fate::Stored(_))).count() as u64;
    let strangers = seen.lenience.strangers.len() as u64;
    let accepted = u64::try_from(total("accepted")).unwrap_or_default();
    report.must((stored..=stored + unknown + strangers).contains(&accepted), || {
        format!("{accepted} jobs were accepted; callers know of {stored}, and don't know of {unknown}")
    });
    let found = harness.doctor().await;
    report.must(found.is_empty(), || format!("the doctor found:\n{found}"));
}

/// The number of members after those of dead replicas are removed, which takes a lease, or two if one has just died.
async fn members(harness: &Harness) -> usize {
    let begun = Instant::now();
    loop {
        let members: usize = harness.ask(&["HLEN", &Harness::key("replicas")]).await;
        if members == harness.processors.len() || begun.elapsed() > harness.setup.lease * 4 * harness.setup.slack {
            return members;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
