use std::time::Duration;

use crate::figure::{Figure, Samples};
use crate::load::number;
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::drain::PATIENCE;
use crate::trials::jobs;
use crate::upstream::Detail;

const JOBS: u64 = 10_000;
/// Number of jobs before the first measurement, so that all keys exist.
const WARM: u64 = 1000;
/// Interval between two checks whether stored answers have expired.
const GLANCE: Duration = Duration::from_millis(100);

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut queued, mut left, mut floor) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..bed.volume.rounds {
        for side in Side::in_turn(round) {
            let (of_queued, of_left) = bytes_per_job(bed, side).await?;
            if side == Side::Floor {
                floor.push(of_queued);
            } else {
                queued.push(of_queued);
                left.push(of_left);
            }
        }
    }
    Ok(vec![
        Figure::alone("bytes-queued", &queued)?,
        Figure::alone("bytes-left", &left)?,
        Figure::alone("bytes-floor", &floor)?,
    ])
}

/// Bytes per job while it is queued, and after it has ended.
pub(super) async fn bytes_per_job(bed: &Testbed, side: Side) -> anyhow::Result<(f64, f64)> {
    bed.redis.empty().await?;
    let intake = bed.intake(side, &Settings::default()).await?;
    jobs::fill(bed, side, &intake, WARM, jobs::BYTES).await?;
    emptied(bed, side, WARM).await?;
    answers_gone(bed).await?;
    let before = bed.redis.memory().await?;
    fill(bed, side, &intake).await?;
    let full = bed.redis.memory().await?;
    emptied(bed, side, JOBS).await?;
    answers_gone(bed).await?;
    let after = bed.redis.memory().await?;
    intake.stop().await?;
    Ok(((full - before) / number(JOBS), (after - before) / number(JOBS)))
}

async fn fill(bed: &Testbed, side: Side, intake: &Role) -> anyhow::Result<()> {
    jobs::fill(bed, side, intake, JOBS, jobs::BYTES).await
}

/// Drains the bucket with a processor, which ends before memory is measured.
async fn emptied(bed: &Testbed, side: Side, jobs: u64) -> anyhow::Result<()> {
    bed.upstream.note(Detail::Counts, u64::MAX);
    let processor = bed.processor(side, &Settings::default()).await?;
    bed.upstream.noted(jobs, PATIENCE).await?;
    bed.settled(side).await?;
    processor.stop().await
}

/// Waits until the stored answers to batches have expired, which aren't memory of outcomes. Redis keeps them for some
/// seconds, and a little longer after `KEYS` no longer returns them.
async fn answers_gone(bed: &Testbed) -> anyhow::Result<()> {
    loop {
        let shown: Vec<String> = bed.redis.ask(&["KEYS", "*"]).await?;
        let kept: usize = bed.redis.ask(&["DBSIZE"]).await?;
        if kept == shown.len() && !shown.iter().any(|key| key.contains(":token:")) {
            return Ok(());
        }
        tokio::time::sleep(GLANCE).await;
    }
}
