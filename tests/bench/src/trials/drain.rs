//! Fills a bucket, and then drains it with 200 calls in flight.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::jobs;
use crate::load::{number, per_s};
use crate::private_redis::Work;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::upstream::{Detail, Notes};

pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Drain {
    pub(crate) calls: u64,
    /// From the first call to the last.
    pub(crate) took: Duration,
    pub(crate) work: Work,
    pub(crate) processor_busy: Duration,
    /// Peak memory of the processor in MiB.
    pub(crate) peak: f64,
    pub(crate) longest_script: f64,
}

impl Drain {
    pub(crate) fn per_s(&self) -> f64 {
        per_s(self.calls, self.took)
    }

    /// Time of Redis in µs.
    pub(crate) fn redis_per_job(&self) -> f64 {
        self.per_job(self.work.commands)
    }

    pub(crate) fn redis_cpu_per_job(&self) -> f64 {
        self.per_job(self.work.cpu)
    }

    pub(crate) fn processor_per_job(&self) -> f64 {
        self.per_job(self.processor_busy)
    }

    fn per_job(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / number(self.calls)
    }
}

pub(crate) async fn measure(bed: &Testbed, side: Side, count: u64, bytes: usize) -> anyhow::Result<Drain> {
    bed.redis.empty().await?;
    let settings = Settings::default();
    let intake = bed.intake(side, &settings).await?;
    jobs::fill(bed, side, &intake, count, bytes).await?;
    intake.stop().await?;
    let begun = bed.redis.begin().await?;
    bed.upstream.note(Detail::Counts, u64::MAX);
    let processor = bed.processor(side, &settings).await?;
    let notes = bed.upstream.noted(count, PATIENCE).await?;
    bed.settled(side).await?;
    let work = bed.redis.work(begun, side.sent()).await?;
    let processor_busy = processor.busy()?;
    let peak = processor.memory("VmHWM:")?;
    let longest_script = bed.redis.longest_script().await?;
    processor.stop().await?;
    let calls = bed.upstream.so_far().calls;
    anyhow::ensure!(calls == count, "{calls} calls for {count} jobs");
    Ok(Drain { calls, took: between(&notes)?, work, processor_busy, peak, longest_script })
}

/// From the first call to the last.
pub(crate) fn between(notes: &Notes) -> anyhow::Result<Duration> {
    let (first, last): (Instant, Instant) = notes.first.zip(notes.last).context("no call was made")?;
    Ok(last.saturating_duration_since(first))
}
