//! What must hold after every run, whatever was done to it.

/// Bodies arrive as submitted; attempts, duplicates, and no call after the success.
mod calls;
/// No accepted job is lost, none comes from nowhere, each has one outcome.
mod kept;
/// rate · w + burst, in every window.
pub mod pace;
/// What is left in Redis: nothing.
mod quiescence;
/// Secrets are found nowhere.
mod secret_leaks;

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use dripfeed_job::JobId;

use super::event_log::EventLog;
use super::harness::Harness;
use super::ledger::{Fate, Submitted};
use super::report::Report;
use super::upstream::Call;

/// What a row expects that others don't.
#[derive(Clone, Debug, Default)]
pub struct Lenience {
    /// Somebody deleted jobs, the last time until then: what was submitted before that is out of our hands.
    pub wiped: Option<Instant>,
    /// Numbers of the run whose jobs are to be dead.
    pub poison: BTreeSet<u64>,
    /// Jobs that the row submitted on its own.
    pub strangers: BTreeSet<JobId>,
    /// Entries that the row wrote into the stream by hand.
    pub foreign: BTreeSet<JobId>,
    /// Somebody purged the bucket: a job may be cancelled without a call.
    pub purged: bool,
    /// What the row itself found wrong.
    pub took: Vec<String>,
}

/// What was seen of a run.
pub(crate) struct Seen<'r> {
    pub(crate) harness: &'r Harness,
    pub(crate) submitted: Vec<Submitted>,
    pub(crate) calls: Vec<Call>,
    pub(crate) event_log: &'r EventLog,
    pub(crate) highest: u64,
    pub(crate) lenience: &'r Lenience,
}

/// How a job ended, as recorded.
pub(crate) struct Ended {
    pub(crate) at_ms: u64,
    pub(crate) result: String,
    pub(crate) reason: String,
}

pub(crate) async fn check(seen: &Seen<'_>) -> Report {
    let mut report =
        Report { violations: seen.lenience.took.clone(), calls: seen.calls.len() as u64, ..Report::default() };
    report.jobs = seen.submitted.len() as u64;
    for submitted in &seen.submitted {
        match submitted.fate {
            Fate::Stored(_) => report.stored += 1,
            Fate::SurelyNotStored => report.not_stored += 1,
            Fate::Unknown | Fate::UnderWay => report.unknown += 1,
        }
    }
    report.faults = seen.event_log.faults().len() as u64;
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    report.recoveries_ms = seen.event_log.recoveries().into_iter().map(ms).collect();
    report.highest_level = seen.highest;
    // What is added by hand isn't asked whether there is room.
    let capacity = u64::from(seen.harness.setup.capacity) + seen.lenience.foreign.len() as u64;
    report.must(seen.highest <= capacity, || format!("the level was {}, the capacity is {capacity}", seen.highest));

    let ended = quiescence::outcomes(seen.harness).await;
    for end in ended.values() {
        *report.outcomes.entry(end.result.clone()).or_default() += 1;
    }
    kept::check(seen, &ended, &mut report);
    calls::check(seen, &ended, &mut report);
    pace::check(seen, &mut report);
    quiescence::check(seen, &ended, &mut report).await;
    secret_leaks::check(seen, &ended, &mut report).await;
    for slot in seen.harness.slots() {
        report.violations.extend(slot.surprises());
    }
    report
}

/// The first few of many, for a message.
pub(crate) fn some<T: std::fmt::Debug>(all: &[T]) -> String {
    format!("{} such as {:?}", all.len(), &all[..all.len().min(5)])
}

pub(crate) type Outcomes = HashMap<JobId, Ended>;
