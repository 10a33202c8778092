use crate::figure::{Figure, Samples, count};
use crate::load::{self, End, number};
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::drain::PATIENCE;
use crate::trials::jobs;
use crate::upstream::Detail;

const SIDE: Side = Side::Dripfeed;
const CALLERS: usize = 10;
const FEW: u64 = 1000;
/// Number of jobs that are submitted and then called in each measurement.
const JOBS: u64 = 2000;
const TIMES: usize = 5;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut few, mut many) = (Samples::default(), Samples::default());
    let settings = Settings { keys: CALLERS, ..Settings::default() };
    for (waiting, samples) in [(FEW, &mut few), (bed.volume.crowd, &mut many)] {
        bed.redis.empty().await?;
        let intake = bed.intake(SIDE, &settings).await?;
        for _ in 0..bed.volume.rounds {
            samples.push(us_per_job(bed, &settings, &intake, waiting).await?);
        }
        intake.stop().await?;
    }
    bed.redis.empty().await?;
    Ok(vec![Figure::against("depth", &many, &few)?])
}

/// Time of Redis per job, from submission to delivery, while `waiting` other jobs wait.
async fn us_per_job(bed: &Testbed, settings: &Settings, intake: &Role, waiting: u64) -> anyhow::Result<f64> {
    let address = intake.address()?;
    let batches = jobs::batches_of_callers(address, 0..CALLERS);
    let [mut inwards, mut outwards] = [0.0, 0.0];
    let mut called = 0;
    for _ in 0..TIMES {
        let missing = waiting.saturating_sub(bed.level(SIDE).await?).div_ceil(jobs::BATCH);
        load::run(address, &batches, End::Requests(missing)).await?;
        let begun = bed.redis.begin().await?;
        load::run(address, &batches, End::Requests(JOBS / jobs::BATCH)).await?;
        inwards += bed.redis.work(begun, SIDE.sent()).await?.commands.as_secs_f64();
        let before = bed.level(SIDE).await?;
        bed.upstream.note(Detail::Counts, u64::MAX);
        let begun = bed.redis.begin().await?;
        let processor = bed.processor(SIDE, settings).await?;
        bed.upstream.noted(JOBS, PATIENCE).await?;
        // The processor first finishes its calls.
        processor.stop().await?;
        outwards += bed.redis.work(begun, SIDE.sent()).await?.commands.as_secs_f64();
        called += before.saturating_sub(bed.level(SIDE).await?);
    }
    Ok((inwards / number(JOBS) / count(TIMES) + outwards / number(called)) * 1e6)
}
