//! The faults of a run: what was done to whom, and when.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whose calls a fault may keep from being settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// Nobody's: it must cause no duplicate.
    Nobody,
    Processor(usize),
    Everybody,
}

/// How long after a fault a process still does what it was about to do: a call that was on its way to the socket when
/// the process was stopped arrives when it goes on.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub struct LoggedFault {
    pub what: &'static str,
    pub hit: Hit,
    pub from: Instant,
    pub until: Instant,
}

impl LoggedFault {
    /// Whether it may have kept a call that `processor` made at `called` from being settled before `again`.
    pub fn came_between(&self, processor: usize, called: Instant, again: Instant) -> bool {
        let hit = match self.hit {
            Hit::Nobody => false,
            Hit::Processor(hit) => hit == processor,
            Hit::Everybody => true,
        };
        hit && self.from <= again && self.until + ON_ITS_WAY >= called
    }

    /// Whether it may have delayed a call that `processor` was about to make, so that another one called the job at
    /// `meanwhile`, and this one only at `arrived`: which is before its end is noted, when it goes on at once.
    pub fn delayed(&self, processor: usize, meanwhile: Instant, arrived: Instant) -> bool {
        self.hit == Hit::Processor(processor) && self.from <= meanwhile && arrived <= self.until + ON_ITS_WAY
    }
}

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct EventLog {
    faults: Arc<Mutex<Vec<LoggedFault>>>,
    recoveries: Arc<Mutex<Vec<Duration>>>,
}

impl EventLog {
    /// Does it, and writes it down.
    pub async fn fault<T>(&self, what: &'static str, hit: Hit, deed: impl Future<Output = T>) -> T {
        let from = Instant::now();
        let done = deed.await;
        self.note(LoggedFault { what, hit, from, until: Instant::now() });
        done
    }

    pub fn note(&self, fault: LoggedFault) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// How long it took until all worked again.
    pub fn recovered_within(&self, time: Duration) {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner).push(time);
    }

    pub fn faults(&self) -> Vec<LoggedFault> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How long before `at` the last fault ended that hit a processor.
    pub fn last_before(&self, processor: usize, at: Instant) -> Option<Duration> {
        let faults = self.faults();
        let hit = faults.iter().filter(|fault| matches!(fault.hit, Hit::Processor(hit) if hit == processor));
        hit.filter(|fault| fault.until <= at).map(|fault| at - fault.until).min()
    }

    pub fn recoveries(&self) -> Vec<Duration> {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
