//! The faults of a run: what was done to whom, and when.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub struct Fault {
    pub what: &'static str,
    /// The processor that it hit; None: all of them.
    pub processor: Option<usize>,
    pub from: Instant,
    pub until: Instant,
}

impl Fault {
    /// Whether it may have kept a call that `processor` made at `called` from being settled before `again`.
    pub fn came_between(&self, processor: usize, called: Instant, again: Instant) -> bool {
        self.processor.is_none_or(|hit| hit == processor) && self.from <= again && self.until >= called
    }
}

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Chronicle {
    faults: Arc<Mutex<Vec<Fault>>>,
    recoveries: Arc<Mutex<Vec<Duration>>>,
}

impl Chronicle {
    /// Does it, and writes it down.
    pub async fn fault<T>(&self, what: &'static str, processor: Option<usize>, deed: impl Future<Output = T>) -> T {
        let from = Instant::now();
        let done = deed.await;
        self.note(Fault { what, processor, from, until: Instant::now() });
        done
    }

    pub fn note(&self, fault: Fault) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// How long it took until all worked again.
    pub fn recovered_within(&self, time: Duration) {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner).push(time);
    }

    pub fn faults(&self) -> Vec<Fault> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn recoveries(&self) -> Vec<Duration> {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
