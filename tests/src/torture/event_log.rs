//! The log of a run's faults.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The processors whose calls a fault may keep from being settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// No processor: the fault must cause no duplicate call.
    Nobody,
    Processor(usize),
    Everybody,
}

/// How long after a fault a call can arrive that the process was about to send when it was suspended.
const IN_TRANSIT: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub struct LoggedFault {
    pub what: &'static str,
    pub hit: Hit,
    pub from: Instant,
    pub until: Instant,
}

impl LoggedFault {
    /// Whether the fault may have kept a call by `processor` at `called` from being settled before `again`.
    pub fn came_between(&self, processor: usize, called: Instant, again: Instant) -> bool {
        let hit = match self.hit {
            Hit::Nobody => false,
            Hit::Processor(hit) => hit == processor,
            Hit::Everybody => true,
        };
        hit && self.from <= again && self.until + IN_TRANSIT >= called
    }

    /// Whether the fault may have delayed a call by `processor` until `arrived`, so that another processor called the
    /// job at `meanwhile`. The call may arrive before the end of the fault is logged.
    pub fn delayed(&self, processor: usize, meanwhile: Instant, arrived: Instant) -> bool {
        self.hit == Hit::Processor(processor) && self.from <= meanwhile && arrived <= self.until + IN_TRANSIT
    }
}

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct EventLog {
    faults: Arc<Mutex<Vec<LoggedFault>>>,
    recoveries: Arc<Mutex<Vec<Duration>>>,
}

impl EventLog {
    /// Injects a fault, and logs it.
    pub async fn fault<T>(&self, what: &'static str, hit: Hit, deed: impl Future<Output = T>) -> T {
        let from = Instant::now();
        let done = deed.await;
        self.note(LoggedFault { what, hit, from, until: Instant::now() });
        done
    }

    pub fn note(&self, fault: LoggedFault) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// Logs the time of a recovery.
    pub fn recovered_within(&self, time: Duration) {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner).push(time);
    }

    pub fn faults(&self) -> Vec<LoggedFault> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The time between the end of the last fault of a processor and `at`.
    pub fn last_before(&self, processor: usize, at: Instant) -> Option<Duration> {
        let faults = self.faults();
        let hit = faults.iter().filter(|fault| matches!(fault.hit, Hit::Processor(hit) if hit == processor));
        hit.filter(|fault| fault.until <= at).map(|fault| at - fault.until).min()
    }

    pub fn recoveries(&self) -> Vec<Duration> {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
