use crate::figure::{Figure, Samples};
use crate::load::{self, End, number};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::jobs;

const SIDE: Side = Side::Dripfeed;
const JOBS: usize = 10_000;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut one, mut each) = (Samples::default(), Samples::default());
    // The first call of each command allocates a histogram of its latency, 300 KB in total, which isn't memory of jobs.
    bytes_added(bed, 1).await?;
    for _ in 0..bed.volume.rounds {
        one.push(bytes_added(bed, 1).await?);
        each.push(bytes_added(bed, JOBS).await?);
    }
    Ok(vec![Figure::alone("bytes-one", &one)?, Figure::alone("bytes-each", &each)?])
}

async fn bytes_added(bed: &Testbed, callers: usize) -> anyhow::Result<f64> {
    Ok(bytes_per_job(bed, "caller", callers).await? - bytes_per_job(bed, "off", callers).await?)
}

/// Bytes per job while it is queued behind the job of another caller.
async fn bytes_per_job(bed: &Testbed, by: &str, callers: usize) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let more = format!("[buckets.bench.fair]\nby = \"{by}\"\n");
    let settings = Settings { keys: callers + 1, more, ..Settings::default() };
    let intake = bed.intake(SIDE, &settings).await?;
    let address = intake.address()?;
    load::run(address, &jobs::of_callers(address, callers..callers + 1), End::Requests(1)).await?;
    let before = bed.redis.memory().await?;
    let jobs = u64::try_from(JOBS)?;
    load::run(address, &jobs::of_callers(address, 0..callers), End::Requests(jobs)).await?;
    let after = bed.redis.memory().await?;
    intake.stop().await?;
    Ok((after - before) / number(jobs))
}
