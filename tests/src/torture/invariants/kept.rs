use std::collections::{HashMap, HashSet};

use dripfeed_job::JobId;

use super::{Outcomes, Seen, some};
use crate::torture::ledger::Fate;
use crate::torture::report::Report;

pub(super) fn check(seen: &Seen<'_>, ended: &Outcomes, report: &mut Report) {
    let mut number_of = HashMap::new();
    let mut called: HashMap<u64, HashSet<JobId>> = HashMap::new();
    let known = |number: u64| usize::try_from(number).ok().and_then(|index| seen.submitted.get(index));
    for call in &seen.calls {
        match call.number {
            Some(number) if known(number).is_some() => {
                called.entry(number).or_default().insert(call.job);
            }
            _ if seen.lenience.strangers.contains(&call.job) => {}
            _ => report.violations.push(format!("a call for what nobody submitted: {call:?}")),
        }
    }

    let (mut lost, mut twice) = (Vec::new(), Vec::new());
    for (number, submitted) in (0_u64..).zip(&seen.submitted) {
        let ids = called.get(&number);
        let wiped = seen.lenience.wiped.is_some_and(|until| submitted.begun <= until);
        // Without an idempotency key, each try without an answer may have become a job.
        let tries = if submitted.keyed { submitted.unknown_tries.min(1) } else { submitted.unknown_tries };
        let most = match submitted.fate {
            Fate::Stored(id) => {
                // A deleted stream may assign an id of the same millisecond again.
                if let Some(other) = number_of.insert(id, number).filter(|_| !wiped) {
                    report.violations.push(format!("{number} and {other} were both answered that they are {id}"));
                }
                if !wiped && !ended.contains_key(&id) {
                    lost.push((number, id, "it has no outcome".to_owned()));
                }
                let cancelled = seen.lenience.purged && ended.get(&id).is_some_and(|end| end.result == "cancelled");
                let uncalled = wiped || cancelled || seen.lenience.poison.contains(&number);
                if !uncalled && ids.is_none_or(|ids| !ids.contains(&id)) {
                    let end =
                        ended.get(&id).map(|end| format!("it was never called, and is {}: {}", end.result, end.reason));
                    lost.push((number, id, end.unwrap_or_default()));
                }
                if submitted.keyed { 1 } else { 1 + tries }
            }
            Fate::SurelyNotStored => tries,
            Fate::Unknown => tries,
            Fate::UnderWay => {
                report.violations.push(format!("{number} was left under way"));
                tries
            }
        };
        // Idempotency keys were deleted, too.
        if !wiped && ids.is_some_and(|ids| ids.len() > usize::try_from(most).expect("few")) {
            twice.push((number, submitted.fate, ids));
        }
    }
    lost.dedup_by_key(|(number, ..)| *number);
    report.lost = lost.len() as u64;
    report.must(lost.is_empty(), || format!("accepted and lost: {}", some(&lost)));
    report.must(twice.is_empty(), || format!("more jobs than were submitted: {}", some(&twice)));
}
