use crate::figure::{Figure, Samples};
use crate::load::{self, End, number};
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::drain::{PATIENCE, between};
use crate::trials::jobs;
use crate::upstream::Detail;

const FEW: u64 = 1000;
/// Number of jobs that are submitted and then called in each measurement.
const JOBS: u64 = 5000;
const SIDE: Side = Side::Dripfeed;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut few, mut many) = (Samples::default(), Samples::default());
    for (jobs_before, samples) in [(FEW, &mut few), (bed.volume.crowd, &mut many)] {
        bed.redis.empty().await?;
        let intake = bed.intake(SIDE, &Settings::default()).await?;
        for _ in 0..bed.volume.rounds {
            let missing = jobs_before.saturating_sub(bed.level(SIDE).await?).next_multiple_of(jobs::BATCH);
            jobs::fill(bed, SIDE, &intake, missing, jobs::BYTES).await?;
            samples.push(us_per_job(bed, &intake).await?);
        }
        intake.stop().await?;
    }
    bed.redis.empty().await?;
    Ok(vec![Figure::against("growth", &many, &few)?])
}

/// Time of Redis per job, from submission to delivery, beside the jobs in the bucket.
async fn us_per_job(bed: &Testbed, intake: &Role) -> anyhow::Result<f64> {
    let address = intake.address()?;
    let submitted = load::run(address, &jobs::single(SIDE, address, jobs::BYTES), End::Requests(JOBS)).await?;
    bed.upstream.note(Detail::Counts, JOBS);
    let processor = bed.processor(SIDE, &Settings::default()).await?;
    let notes = bed.upstream.noted(JOBS, PATIENCE).await?;
    processor.stop().await?;
    Ok((submitted.elapsed + between(&notes)?).as_secs_f64() * 1e6 / number(JOBS))
}
