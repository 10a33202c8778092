//! A run: load on a harness, faults, and at the end the invariants.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio_util::task::AbortOnDropHandle;

use super::driver::Driver;
use super::event_log::{EventLog, Hit};
use super::harness::{BUCKET, Harness, Setup};
use super::invariants::{self, Lenience};
use super::jobs::Jobs;
use super::ledger::Ledger;
use super::report::Report;

/// Timeout for a bucket to be empty, in addition to the lease and the time of its backlog at its rate.
const TO_DRAIN: Duration = Duration::from_secs(30);
/// Calls per second of the group with a rate limit and a burst of 20, while each reply of Redis is half a second late
/// (permit.rs). All remaining jobs may be of that group.
const SLOWEST: u32 = 40;
/// Interval of sampling the level.
const SAMPLE: Duration = Duration::from_millis(20);

pub struct Run {
    pub harness: Arc<Harness>,
    pub jobs: Jobs,
    pub event_log: EventLog,
    pub driver: Driver,
    pub lenience: Lenience,
    ledger: Ledger,
    highest: Arc<AtomicU64>,
    sampling: AbortOnDropHandle<()>,
    begun: Instant,
}

impl Run {
    pub async fn begin(setup: Setup) -> Self {
        let begun = Instant::now();
        let harness = Arc::new(Harness::start(setup).await);
        if harness.setup.paused {
            harness.operate("pause").await;
        }
        let (jobs, ledger) = (harness.setup.jobs(), Ledger::default());
        let highest = Arc::new(AtomicU64::new(0));
        let sampling = tokio::spawn(sample(Arc::clone(&harness), Arc::clone(&highest)));
        let driver = Driver::start(harness.setup.load, BUCKET, jobs, ledger.clone(), harness.intakes.clone());
        let (event_log, lenience) = (EventLog::default(), Lenience::default());
        Self {
            harness,
            jobs,
            event_log,
            driver,
            lenience,
            ledger,
            highest,
            sampling: AbortOnDropHandle::new(sampling),
            begun,
        }
    }

    /// Waits until the time of the `n`-th of `faults`, which are distributed over the load. Further ones follow at
    /// once.
    pub async fn until_fault(&self, n: u32, faults: u32) {
        let jobs = self.harness.setup.load.jobs;
        self.driver.reached(jobs * u64::from(n) / u64::from(faults.max(1)) * 9 / 10).await;
    }

    pub async fn kill_processor(&self, draw: &mut Rng) {
        let victim = draw.usize(0..self.harness.processors.len());
        let slot = &self.harness.processors[victim];
        slot.ready().await;
        self.event_log.fault("kill -9 a processor", Hit::Processor(victim), slot.kill()).await;
    }

    /// Waits until calls come again, and logs the time since `since`.
    pub async fn recovers(&self, since: Instant) -> Duration {
        let works = self.harness.upstream.works_after(since);
        let works = tokio::time::timeout((TO_DRAIN + self.harness.setup.lease) * self.harness.setup.slack, works)
            .await
            .expect("calls come again");
        let time = works.duration_since(since);
        self.event_log.recovered_within(time);
        time
    }

    /// After the last fault: submits the rest of the load, waits until the bucket is empty, and checks all invariants.
    pub async fn finish(self) -> Report {
        let Self { harness, event_log, driver, ledger, highest, sampling, begun, mut lenience, .. } = self;
        driver.finish().await;
        let late = drain(&harness).await;
        drop(sampling);
        lenience.took.extend(late);
        let scheduled = harness.upstream.calls().into_iter().filter(|call| call.tick.is_some());
        lenience.strangers.extend(scheduled.map(|call| call.job));
        let seen = invariants::Seen {
            harness: &harness,
            submitted: ledger.read(),
            calls: harness.upstream.calls(),
            event_log: &event_log,
            highest: highest.load(Ordering::SeqCst),
            lenience: &lenience,
        };
        let mut report = invariants::check(&seen).await;
        report.seconds = begun.elapsed().as_secs();
        report
    }
}

/// Waits until the bucket is empty. Returns a violation if that takes longer than promised.
async fn drain(harness: &Harness) -> Option<String> {
    let backlog = harness.level().await;
    let slowest = harness.setup.rate.min(SLOWEST);
    let promised = harness.setup.lease + Duration::from_secs(backlog) / slowest + TO_DRAIN;
    let promised = promised * harness.setup.slack;
    let begun = Instant::now();
    while harness.level().await > 0 {
        if begun.elapsed() > promised {
            return Some(format!("{} of {backlog} jobs are left after {promised:?}", harness.level().await));
        }
        tokio::time::sleep(SAMPLE).await;
    }
    None
}

async fn sample(harness: Arc<Harness>, highest: Arc<AtomicU64>) {
    let mut length = redis::cmd("XLEN");
    length.arg(Harness::key("jobs"));
    loop {
        // Ignores errors while Redis is unavailable.
        if let Ok(level) = harness.store.command::<u64>(&length).await {
            highest.fetch_max(level, Ordering::SeqCst);
        }
        tokio::time::sleep(SAMPLE).await;
    }
}
