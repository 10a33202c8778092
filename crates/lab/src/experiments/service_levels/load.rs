//! 1000 calls a second of 25 tenants at three instances: each call goes to the next instance, every fifth is of the
//! loud tenant.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval_at};

use crate::call_log::{CallLog, PassedCalls};
use crate::error::LabError;
use crate::testbed::Testbed;

pub(super) const INSTANCES: usize = 3;
pub(super) const LOAD: Duration = Duration::from_secs(9);
const TENANTS: usize = 25;
/// The interval of calls at one instance: one of the instances gets a call each millisecond.
const BETWEEN_CALLS: Duration = Duration::from_millis(INSTANCES as u64);
const LOUD: usize = 0;
const WINDOW: Duration = Duration::from_secs(60);

pub(super) struct Load {
    /// The allowed calls of the loud tenant, by instance.
    loud: Vec<CallLog>,
    /// The duration of each decision.
    took: Vec<Duration>,
}

/// Runs the load. `ask` decides a call of a tenant at an instance.
pub(super) async fn run(
    testbed: &Testbed,
    ask: impl AsyncFn(usize, &str) -> Result<bool, LabError>,
) -> Result<Load, LabError> {
    let left = testbed.clock().until_next(WINDOW);
    if left < LOAD + Duration::from_millis(200) {
        // Waits, so that the whole load is in one window of a minute.
        tokio::time::sleep(left).await;
    }
    let tenants: Vec<String> = (0..TENANTS).map(|tenant| format!("org-{tenant}")).collect();
    let loud: Vec<CallLog> = (0..INSTANCES).map(|_| CallLog::default()).collect();
    let took = Arc::new(Mutex::new(Vec::new()));
    let begin = Instant::now() + BETWEEN_CALLS;
    let instance = async |instance: usize| {
        let late = Duration::from_millis(u64::try_from(instance).unwrap_or(0));
        let mut calls = interval_at((begin + late).into(), BETWEEN_CALLS);
        calls.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut number = 0_usize;
        while begin.elapsed() < LOAD {
            calls.tick().await;
            let tenant = if number.is_multiple_of(5) { LOUD } else { 1 + number % (TENANTS - 1) };
            number += 1;
            let asked = Instant::now();
            let passed = ask(instance, &tenants[tenant]).await?;
            took.lock().push(asked.elapsed());
            if passed && tenant == LOUD {
                loud[instance].passed(asked);
            }
        }
        Ok::<(), LabError>(())
    };
    try_join_all((0..INSTANCES).map(instance)).await?;
    let took = std::mem::take(&mut *took.lock());
    Ok(Load { loud, took })
}

impl Load {
    /// Returns the allowed calls of the loud tenant at all instances.
    pub(super) fn loud(&self) -> PassedCalls {
        PassedCalls::of(self.loud.iter().flat_map(|log| log.read().iter().copied().collect::<Vec<_>>()).collect())
    }

    pub(super) fn p95_ms(&self) -> f64 {
        let mut took = self.took.clone();
        took.sort_unstable();
        took.get(took.len() * 95 / 100).map_or(0.0, Duration::as_secs_f64) * 1000.0
    }

    /// Returns the bound of `async`: what the instances let through in the `time` in which one of them doesn't see it;
    /// of all of them but the one that lets through least.
    pub(super) fn unseen_by_others(&self, time: Duration) -> u64 {
        let mut most: Vec<u64> = self.loud.iter().map(|log| log.read().most_within(time)).collect();
        most.sort_unstable();
        most.iter().skip(1).sum()
    }
}
