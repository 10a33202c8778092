//! The report of a row: counts and violations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub seconds: u64,
    /// Submissions, in total and by result.
    pub jobs: u64,
    pub stored: u64,
    pub not_stored: u64,
    pub unknown: u64,
    pub calls: u64,
    pub faults: u64,
    pub lost: u64,
    /// Duplicate calls, by cause.
    pub duplicates: BTreeMap<String, u64>,
    /// Jobs, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    pub recoveries_ms: Vec<u64>,
    pub highest_level: u64,
    /// By length of a window in ms: the number of calls in the fullest one, and the maximum.
    pub fullest_windows: BTreeMap<u64, (u64, u64)>,
    /// Further counts of the row.
    pub notes: BTreeMap<String, u64>,
    /// Violated invariants.
    pub violations: Vec<String>,
}

impl Report {
    /// Adds the report of another harness with the same faults.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.seconds = self.seconds.max(other.seconds);
        self.jobs += other.jobs;
        self.stored += other.stored;
        self.not_stored += other.not_stored;
        self.unknown += other.unknown;
        self.calls += other.calls;
        self.faults += other.faults;
        self.lost += other.lost;
        self.highest_level = self.highest_level.max(other.highest_level);
        add(&mut self.duplicates, other.duplicates);
        add(&mut self.outcomes, other.outcomes);
        add(&mut self.notes, other.notes);
        self.recoveries_ms.extend(other.recoveries_ms);
        for (window, (calls, most)) in other.fullest_windows {
            let fullest = self.fullest_windows.entry(window).or_default();
            *fullest = (fullest.0.max(calls), most);
        }
        self.violations.extend(other.violations);
        self
    }

    /// Adds to a further count of the row.
    pub fn note(&mut self, what: &str, count: u64) {
        *self.notes.entry(what.to_owned()).or_default() += count;
    }

    /// Adds a violation unless `holds`.
    pub fn must(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(what());
        }
    }

    pub fn duplicates(&self) -> u64 {
        self.duplicates.values().sum()
    }

    /// A line of the table.
    pub fn line(&self, fault: &str) -> String {
        let mut recoveries = self.recoveries_ms.clone();
        recoveries.sort_unstable();
        let recovery = match recoveries[..] {
            [] => "–".to_owned(),
            [.., longest] => format!("{} / {longest}", recoveries[recoveries.len() / 2]),
        };
        let Self { jobs, stored, unknown, faults, lost, seconds, .. } = self;
        let causes = causes(&self.duplicates);
        format!("| {fault} | {jobs} | {stored} | {unknown} | {faults} | {lost} | {causes} | {recovery} | {seconds} |")
    }
}

pub const HEAD: &str = "\
| fault | jobs | accepted | left unknown | faults | lost | duplicates, by cause | recovery ms: median / longest | s |
|---|---|---|---|---|---|---|---|---|";

fn add(all: &mut BTreeMap<String, u64>, others: BTreeMap<String, u64>) {
    for (name, count) in others {
        *all.entry(name).or_default() += count;
    }
}

fn causes(duplicates: &BTreeMap<String, u64>) -> String {
    let mut text = duplicates.values().sum::<u64>().to_string();
    for (cause, count) in duplicates {
        // Writing into a String can't fail.
        let _ = write!(text, "; {cause}: {count}");
    }
    text
}
