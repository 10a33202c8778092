//! A run: load on a stage, faults done to it, and at its end the invariants.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::task::AbortOnDropHandle;

use super::chronicle::Chronicle;
use super::driver::Driver;
use super::invariants::{self, Lenience};
use super::jobs::Jobs;
use super::ledger::Ledger;
use super::report::Report;
use super::stage::{BUCKET, Setup, Stage};

/// Timeout for a bucket to be empty, beyond the lease and what its backlog takes at its rate.
const TO_DRAIN: Duration = Duration::from_secs(30);
/// Between two looks at the level.
const SAMPLE: Duration = Duration::from_millis(20);

pub struct Run {
    pub stage: Arc<Stage>,
    pub jobs: Jobs,
    pub chronicle: Chronicle,
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
        let stage = Arc::new(Stage::set(setup).await);
        let (jobs, ledger) = (stage.setup.jobs(), Ledger::default());
        let highest = Arc::new(AtomicU64::new(0));
        let sampling = tokio::spawn(sample(Arc::clone(&stage), Arc::clone(&highest)));
        let driver = Driver::start(stage.setup.load, BUCKET, jobs, ledger.clone(), stage.intakes.clone());
        let (chronicle, lenience) = (Chronicle::default(), Lenience::default());
        Self {
            stage,
            jobs,
            chronicle,
            driver,
            lenience,
            ledger,
            highest,
            sampling: AbortOnDropHandle::new(sampling),
            begun,
        }
    }

    /// Returns when it is time for the `n`-th of `faults`, which are spread over the load; beyond it they follow each other.
    pub async fn until_fault(&self, n: u32, faults: u32) {
        let jobs = self.stage.setup.load.jobs;
        self.driver.reached(jobs * u64::from(n) / u64::from(faults.max(1)) * 9 / 10).await;
    }

    /// Waits until calls come again, and writes down how long after `since` that was.
    pub async fn recovers(&self, since: Instant) -> Duration {
        let works = self.stage.upstream.works_after(since);
        let works = tokio::time::timeout((TO_DRAIN + self.stage.setup.lease) * self.stage.setup.slack, works)
            .await
            .expect("calls come again");
        let time = works.duration_since(since);
        self.chronicle.recovered_within(time);
        time
    }

    /// The faults are over: submits the rest, waits until the bucket is empty, and looks at every invariant.
    pub async fn finish(self) -> Report {
        let Self { stage, chronicle, driver, ledger, highest, sampling, begun, mut lenience, .. } = self;
        driver.finish().await;
        let late = drain(&stage).await;
        drop(sampling);
        lenience.took.extend(late);
        let seen = invariants::Seen {
            stage: &stage,
            submitted: ledger.read(),
            calls: stage.upstream.calls(),
            chronicle: &chronicle,
            highest: highest.load(Ordering::SeqCst),
            lenience: &lenience,
        };
        let mut report = invariants::check(&seen).await;
        report.seconds = begun.elapsed().as_secs();
        report
    }
}

/// Waits until nothing is left; shows when that takes longer than promised.
async fn drain(stage: &Stage) -> Option<String> {
    let backlog = stage.level().await;
    let promised = stage.setup.lease + Duration::from_secs(backlog) / stage.setup.rate + TO_DRAIN;
    let promised = promised * stage.setup.slack;
    let begun = Instant::now();
    while stage.level().await > 0 {
        if begun.elapsed() > promised {
            return Some(format!("{} of {backlog} jobs are left after {promised:?}", stage.level().await));
        }
        tokio::time::sleep(SAMPLE).await;
    }
    None
}

async fn sample(stage: Arc<Stage>, highest: Arc<AtomicU64>) {
    let mut length = redis::cmd("XLEN");
    length.arg(Stage::key("jobs"));
    loop {
        // While Redis is away there is no level.
        if let Ok(level) = stage.store.command::<u64>(&length).await {
            highest.fetch_max(level, Ordering::SeqCst);
        }
        tokio::time::sleep(SAMPLE).await;
    }
}
