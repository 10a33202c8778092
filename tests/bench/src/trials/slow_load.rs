//! The latency of single jobs, at a hundred jobs a second.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::time::{MissedTickBehavior, interval};

use super::jobs;
use crate::client::{Connection, PATIENCE};
use crate::figure::Samples;
use crate::load;
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::upstream::Detail;

const PER_S: u32 = 100;
/// Number of jobs before the measurement.
const WARM: u64 = 50;

pub(crate) struct SlowLoad {
    /// From before the POST until the upstream has the call, in µs.
    pub(crate) latencies: Samples,
    /// Time of Redis per job in µs.
    pub(crate) redis_per_job: f64,
}

pub(crate) async fn measure(bed: &Testbed, side: Side) -> anyhow::Result<SlowLoad> {
    bed.redis.empty().await?;
    let settings = Settings::default();
    let intake = bed.intake(side, &settings).await?;
    let processor = bed.processor(side, &settings).await?;
    let found = measure_on(bed, side, &intake, |_| side.path().to_owned()).await?;
    intake.stop().await?;
    processor.stop().await?;
    Ok(found)
}

/// Measures with running roles. `path` returns the path of a job by its number.
pub(crate) async fn measure_on(
    bed: &Testbed,
    side: Side,
    intake: &Role,
    path: impl Fn(u64) -> String,
) -> anyhow::Result<SlowLoad> {
    let epoch = Instant::now();
    let address = intake.address()?;
    let mut connection = Connection::open(address).await?;
    let count = u64::from(PER_S) * bed.volume.slow_load.as_secs();
    let mut turns = interval(Duration::from_secs(1) / PER_S);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut begun = Duration::ZERO;
    for number in 0..WARM + count {
        turns.tick().await;
        if number == WARM {
            bed.settled(side).await?;
            bed.upstream.note(Detail::Bodies, count);
            begun = bed.redis.begin().await?;
        }
        let sent = u64::try_from(epoch.elapsed().as_nanos())?;
        let status =
            connection.exchange(&jobs::post_to(address, &path(number), &jobs::body(sent, jobs::BYTES))).await?;
        anyhow::ensure!(status == 202, "the answer is {status}");
    }
    let notes = bed.upstream.noted(count, PATIENCE).await?;
    bed.settled(side).await?;
    let work = bed.redis.work(begun, side.sent()).await?;
    let mut latencies = Samples::default();
    for (arrived, body) in notes.arrivals.iter().zip(&notes.bodies) {
        let sent = epoch + Duration::from_nanos(jobs::stamp(body)?);
        let latency = arrived.checked_duration_since(sent).context("a call before its POST")?;
        latencies.push(latency.as_secs_f64() * 1e6);
    }
    Ok(SlowLoad { latencies, redis_per_job: work.commands.as_secs_f64() * 1e6 / load::number(count) })
}
