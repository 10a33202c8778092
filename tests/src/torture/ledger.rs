//! The results of all submissions of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dripfeed_job::JobId;

/// The result of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    UnderWay,
    Stored(JobId),
    SurelyNotStored,
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub struct Submitted {
    pub fate: Fate,
    /// Tries with an unknown result: without an idempotency key each may have become a job.
    pub unknown_tries: u32,
    pub keyed: bool,
    pub begun: Instant,
}

/// All submissions, by number of the job. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Vec<Submitted>>>);

impl Ledger {
    /// Adds a submission. Returns its number.
    pub fn open(&self, keyed: impl Fn(u64) -> bool) -> u64 {
        let mut all = self.all();
        let number = all.len() as u64;
        let begun = Instant::now();
        all.push(Submitted { fate: Fate::UnderWay, unknown_tries: 0, keyed: keyed(number), begun });
        number
    }

    pub fn unknown_try(&self, number: u64) {
        self.change(number, |submitted| submitted.unknown_tries += 1);
    }

    pub fn close(&self, number: u64, fate: Fate) {
        self.change(number, |submitted| submitted.fate = fate);
    }

    pub fn len(&self) -> usize {
        self.all().len()
    }

    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    pub fn read(&self) -> Vec<Submitted> {
        self.all().clone()
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Submitted)) {
        let index = usize::try_from(number).expect("a number that was given out");
        change(&mut self.all()[index]);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Submitted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
