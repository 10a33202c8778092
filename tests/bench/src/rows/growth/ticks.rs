use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;

use crate::client::{self, PATIENCE};
use crate::figure::{Figure, Samples, count};
use crate::load::{self, End, Requests};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::jobs;

const SIDE: Side = Side::Dripfeed;
const SCHEDULES: usize = 10_000;
/// The period in seconds.
const EVERY: u64 = 10;
/// Schedules must be created this long before they are due, and duplicate ticks are awaited for this long.
const LATEST: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(50);

struct Admitted {
    /// From the due time, or the POST, until the last job was in the bucket, in ms.
    took_ms: f64,
    wrong: usize,
}

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let [mut ticks, mut batches, mut wrong] = <[Samples; 3]>::default();
    for _ in 0..bed.volume.rounds {
        batches.push(in_batches(bed).await?);
        let admitted = by_schedules(bed).await?;
        ticks.push(admitted.took_ms);
        wrong.push(count(admitted.wrong));
    }
    Ok(vec![Figure::against("ticks", &ticks, &batches)?, Figure::alone("ticks-wrong", &wrong)?])
}

async fn in_batches(bed: &Testbed) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let intake = bed.intake(SIDE, &Settings::default()).await?;
    let address = intake.address()?;
    let requests = u64::try_from(SCHEDULES)? / jobs::BATCH;
    let answers = load::run(address, &jobs::batch(address, jobs::BYTES), End::Requests(requests)).await?;
    intake.stop().await?;
    Ok(answers.elapsed.as_secs_f64() * 1e3)
}

async fn by_schedules(bed: &Testbed) -> anyhow::Result<Admitted> {
    bed.redis.empty().await?;
    let more = format!("[defaults]\nmost_schedules = {SCHEDULES}\nschedules_bytes = \"64MiB\"\n");
    let intake = bed.intake(SIDE, &Settings { more, ..Settings::default() }).await?;
    let address = intake.address()?;
    // Starts at the beginning of a period, so that all schedules exist before its end.
    let due = next_period()?;
    tokio::time::sleep(due.saturating_sub(since_epoch()?)).await;
    let due = next_period()?;
    load::run(address, &definitions(address), End::Requests(u64::try_from(SCHEDULES)?)).await?;
    anyhow::ensure!(since_epoch()? + LATEST < due, "creating the schedules takes too long");
    let admitted = admitted(bed, due).await;
    intake.stop().await?;
    admitted
}

/// The schedules, each with its number in the body.
fn definitions(address: SocketAddr) -> Requests {
    let definition = |number: usize| {
        let body = jobs::body(u64::try_from(number).unwrap_or(0), jobs::BYTES);
        let path = format!("/v1/buckets/bench/schedules/s{number}");
        client::put(address, &path, &format!("{{\"every\":\"{EVERY}s\",\"job\":{{\"body\":{body}}}}}"))
    };
    Arc::new((0..SCHEDULES).map(definition).collect())
}

/// Waits until all jobs are in the bucket, or no more come.
async fn admitted(bed: &Testbed, due: Duration) -> anyhow::Result<Admitted> {
    tokio::time::sleep(due.saturating_sub(since_epoch()?)).await;
    let (begun, mut last) = (Instant::now(), 0);
    while last < SCHEDULES && begun.elapsed() < PATIENCE / 2 {
        tokio::time::sleep(GLANCE).await;
        last = usize::try_from(bed.level(SIDE).await?)?;
    }
    // Waits for duplicates, which may come later.
    tokio::time::sleep(LATEST).await;
    let entries: Vec<(String, Vec<(String, redis::Value)>)> =
        bed.redis.ask(&["XRANGE", "dripfeed:{bench}:jobs", "-", "+"]).await?;
    let mut numbers = BTreeSet::new();
    for (_, fields) in &entries {
        let body = fields.iter().find(|(name, _)| name == "body").context("a job without a body")?;
        let body: Vec<u8> = redis::from_redis_value(body.1.clone())?;
        numbers.insert(jobs::stamp(&body)?);
    }
    // An id begins with the time in ms.
    let (id, _) = entries.last().context("no tick came")?;
    let at: u64 = id.split('-').next().unwrap_or_default().parse()?;
    let took = Duration::from_millis(at).saturating_sub(due);
    let wrong = SCHEDULES - numbers.len() + (entries.len() - numbers.len());
    Ok(Admitted { took_ms: took.as_secs_f64() * 1e3, wrong })
}

fn since_epoch() -> anyhow::Result<Duration> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}

fn next_period() -> anyhow::Result<Duration> {
    Ok(Duration::from_secs((since_epoch()?.as_secs() / EVERY + 1) * EVERY))
}
