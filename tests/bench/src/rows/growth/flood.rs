use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::try_join_all;

use crate::client::{Connection, PATIENCE};
use crate::figure::{Figure, Samples, count};
use crate::load::{self, End, number};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::jobs;
use crate::upstream::Detail;

const SIDE: Side = Side::Dripfeed;
/// Calls per second of the bucket, with a burst of 1, so that the wait for a token exceeds all others.
const RATE: u64 = 100;
const QUIET_CALLERS: usize = 9;
/// The load of these callers together, as a part of the rate.
const LOAD: f64 = 0.45;
/// Jobs of the tenth caller, which last longer than the measurement at this rate.
const FLOOD: u64 = 10_000;
/// Few, because the p99 needs many jobs per round.
const ROUNDS: usize = 2;
const TIMES_THE_SLOW_LOAD: u32 = 2;
/// Constant, so that all measurements have the same times.
const SEED: u64 = 13;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut flooded, mut quiet) = (<[Samples; 2]>::default(), <[Samples; 2]>::default());
    for round in 0..ROUNDS {
        for flood in if round.is_multiple_of(2) { [0, FLOOD] } else { [FLOOD, 0] } {
            let waits = waits(bed, flood).await?;
            let [p50, p99] = if flood > 0 { &mut flooded } else { &mut quiet };
            p50.push(waits.quantile(0.5));
            p99.push(waits.quantile(0.99));
        }
    }
    Ok(vec![Figure::against("flood", &flooded[1], &quiet[1])?, Figure::against("flood-p50", &flooded[0], &quiet[0])?])
}

/// The times in ms of the quiet callers' jobs, from the POST to the call.
async fn waits(bed: &Testbed, flood: u64) -> anyhow::Result<Samples> {
    bed.redis.empty().await?;
    let settings = Settings { rate: Some((RATE, 1)), keys: QUIET_CALLERS + 1, ..Settings::default() };
    let intake = bed.intake(SIDE, &settings).await?;
    let address = intake.address()?;
    let flooder = jobs::batches_of_callers(address, QUIET_CALLERS..QUIET_CALLERS + 1);
    if flood > 0 {
        load::run(address, &flooder, End::Requests(flood / jobs::BATCH)).await?;
    }
    let processor = bed.processor(SIDE, &settings).await?;
    bed.upstream.note(Detail::Bodies, u64::MAX);
    let (epoch, end) = (Instant::now(), bed.volume.slow_load * TIMES_THE_SLOW_LOAD);
    let callers = (0..QUIET_CALLERS).map(|caller| submit(address, caller, epoch, end));
    let sent: u64 = try_join_all(callers).await?.into_iter().sum();
    let waits = arrived(bed, epoch, sent).await?;
    anyhow::ensure!(flood == 0 || bed.level(SIDE).await? > 0, "the flood has gone");
    intake.stop().await?;
    processor.stop().await?;
    Ok(waits)
}

/// Submits jobs at random times, which don't depend on late responses. Returns their number.
async fn submit(address: SocketAddr, caller: usize, epoch: Instant, end: Duration) -> anyhow::Result<u64> {
    let mut random = fastrand::Rng::with_seed(SEED + u64::try_from(caller)?);
    let mut connection = Connection::open(address).await?;
    let per_s = number(RATE) * LOAD / count(QUIET_CALLERS);
    let (mut due, mut sent) = (Duration::ZERO, 0);
    loop {
        due += Duration::from_secs_f64(-(1.0 - random.f64()).ln() / per_s);
        if due >= end {
            return Ok(sent);
        }
        tokio::time::sleep_until((epoch + due).into()).await;
        let body = jobs::body(u64::try_from(due.as_nanos())?, jobs::BYTES);
        let status = connection.exchange(&jobs::of_caller(address, caller, &body)).await?;
        anyhow::ensure!(status == 202, "the answer is {status}");
        sent += 1;
    }
}

/// Waits until all jobs have been called, and returns their times. Jobs of the flood have no timestamp.
async fn arrived(bed: &Testbed, epoch: Instant, sent: u64) -> anyhow::Result<Samples> {
    let begun = Instant::now();
    loop {
        let notes = bed.upstream.so_far();
        let (mut waits, mut calls) = (Samples::default(), 0);
        for (arrived, body) in notes.arrivals.iter().zip(&notes.bodies) {
            let due = jobs::stamp(body)?;
            if due > 0 {
                let waited = arrived.saturating_duration_since(epoch + Duration::from_nanos(due));
                waits.push(waited.as_secs_f64() * 1e3);
                calls += 1;
            }
        }
        if calls == sent {
            return Ok(waits);
        }
        anyhow::ensure!(begun.elapsed() < PATIENCE, "{calls} of {sent} jobs were called");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
