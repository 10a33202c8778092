//! The time of Redis for each job of several callers, from submission to delivery.

use std::time::Duration;

use futures::future::try_join_all;

use super::drain::{self, PATIENCE};
use super::{admission, jobs};
use crate::client::Connection;
use crate::load::{self, End, number};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::upstream::Detail;

const SIDE: Side = Side::Dripfeed;
/// Concurrent POSTs without a backlog.
const AT_ONCE: usize = 32;

/// The backlog of waiting jobs during the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backlog {
    /// Every 32 jobs are called before the next 32 come.
    None,
    /// All jobs are submitted, then all are called; in this number of parts.
    Times(u64),
}

/// The time of Redis in µs per job, for about this many jobs of the callers.
pub(crate) async fn us_per_job(bed: &Testbed, settings: &Settings, backlog: Backlog, jobs: u64) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    match backlog {
        Backlog::None => without_backlog(bed, settings, jobs).await,
        Backlog::Times(times) => with_backlog(bed, settings, jobs, times).await,
    }
}

async fn with_backlog(bed: &Testbed, settings: &Settings, jobs: u64, times: u64) -> anyhow::Result<f64> {
    let intake = bed.intake(SIDE, settings).await?;
    let address = intake.address()?;
    let requests = jobs::of_callers(address, 0..settings.keys);
    let begun = bed.redis.begin().await?;
    for _ in 0..times {
        load::run(address, &requests, End::Requests(jobs / times)).await?;
        bed.upstream.note(Detail::Counts, u64::MAX);
        let processor = bed.processor(SIDE, settings).await?;
        bed.upstream.noted(jobs / times, PATIENCE).await?;
        bed.settled(SIDE).await?;
        processor.stop().await?;
    }
    let work = bed.redis.work(begun, SIDE.sent()).await?;
    intake.stop().await?;
    Ok(us(work.commands, jobs / times * times))
}

async fn without_backlog(bed: &Testbed, settings: &Settings, jobs: u64) -> anyhow::Result<f64> {
    let intake = bed.intake(SIDE, settings).await?;
    let processor = bed.processor(SIDE, settings).await?;
    let address = intake.address()?;
    let requests = jobs::of_callers(address, 0..settings.keys);
    let mut connections = try_join_all((0..AT_ONCE).map(|_| Connection::open(address))).await?;
    let (mut sent, mut begun) = (0, None);
    bed.upstream.note(Detail::Counts, u64::MAX);
    while sent < jobs {
        // After the first jobs all scripts are loaded.
        if sent > 0 && begun.is_none() {
            begun = Some((sent, bed.redis.begin().await?));
        }
        let in_turn = connections.iter_mut().zip(requests.iter().cycle());
        let answers = try_join_all(in_turn.map(|(connection, request)| connection.exchange(request))).await?;
        anyhow::ensure!(answers.iter().all(|status| *status == 202), "the answers are {answers:?}");
        sent += u64::try_from(AT_ONCE)?;
        bed.upstream.noted(sent, PATIENCE).await?;
    }
    bed.settled(SIDE).await?;
    let (before, begun) = begun.unwrap_or_default();
    let work = bed.redis.work(begun, SIDE.sent()).await?;
    intake.stop().await?;
    processor.stop().await?;
    Ok(us(work.commands, sent - before))
}

/// As `us_per_job`, for the floor.
pub(crate) async fn of_floor(bed: &Testbed) -> anyhow::Result<f64> {
    let (side, settings) = (Side::Floor, Settings::default());
    let inwards = admission::measure(bed, side, &settings, |at| jobs::single(side, at, jobs::BYTES)).await?;
    let outwards = drain::measure(bed, side, bed.volume.jobs, jobs::BYTES).await?;
    Ok(inwards.redis_per_job() + outwards.redis_per_job())
}

fn us(time: Duration, jobs: u64) -> f64 {
    time.as_secs_f64() * 1e6 / number(jobs)
}
