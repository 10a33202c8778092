//! The invariants that must hold after every run.

/// Calls have the submitted bodies, correct attempts, explained duplicates, and none follows a success.
mod calls;
/// No accepted job is lost, no unknown job appears, and each has one outcome.
mod kept;
/// At most rate · w + burst calls in every window w.
pub mod pace;
/// Nothing is left in Redis.
mod quiescence;
/// Logs, metrics and outcomes contain no secrets.
mod secret_leaks;

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use dripfeed_job::JobId;

use super::event_log::EventLog;
use super::harness::Harness;
use super::ledger::{Fate, Submitted};
use super::report::Report;
use super::upstream::Call;

/// The exceptions of a row.
#[derive(Clone, Debug, Default)]
pub struct Lenience {
    /// When jobs were last deleted by hand. Jobs that were submitted before aren't checked.
    pub wiped: Option<Instant>,
    /// Numbers of the jobs that must be dead-lettered.
    pub poison: BTreeSet<u64>,
    /// Jobs that the row has submitted itself.
    pub strangers: BTreeSet<JobId>,
    /// Entries that the row has added to the stream by hand.
    pub foreign: BTreeSet<JobId>,
    /// Whether the bucket was purged, so that jobs may be cancelled without a call.
    pub purged: bool,
    /// Violations that the row has found.
    pub took: Vec<String>,
}

/// The observations of a run.
pub(crate) struct Seen<'r> {
    pub(crate) harness: &'r Harness,
    pub(crate) submitted: Vec<Submitted>,
    pub(crate) calls: Vec<Call>,
    pub(crate) event_log: &'r EventLog,
    pub(crate) highest: u64,
    pub(crate) lenience: &'r Lenience,
}

/// The recorded outcome of a job.
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
    // Entries that are added by hand aren't refused at the capacity.
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
