use std::time::{Duration, Instant};

use futures::future::try_join_all;

use crate::client::fetch;
use crate::figure::{Figure, Samples, count};
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;

const SIDE: Side = Side::Dripfeed;
/// Further buckets besides that of all rows.
const OTHERS: usize = 9999;
const PROCESSORS: usize = 4;
/// Time after the start until all lanes are on standby.
const SETTLE: Duration = Duration::from_secs(10);
/// Longer than usual, to include work that is done once in some seconds.
const TIMES_THE_IDLE: u32 = 3;
const SCRAPES: usize = 3;
/// An intake reads the state of its buckets again if it is older than 5 s.
const BETWEEN_SCRAPES: Duration = Duration::from_secs(6);

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let [mut redis, mut processors, mut memory, mut times, mut bytes] = <[Samples; 5]>::default();
    bed.redis.empty().await?;
    let settings = Settings { others: OTHERS, ..Settings::default() };
    let intake = bed.intake(SIDE, &settings).await?;
    let replicas = try_join_all((0..PROCESSORS).map(|_| bed.processor(SIDE, &settings))).await?;
    tokio::time::sleep(SETTLE).await;
    let window = bed.volume.idle * TIMES_THE_IDLE;
    for _ in 0..bed.volume.rounds {
        let before: Vec<Duration> = replicas.iter().map(Role::busy).collect::<Result<_, _>>()?;
        let begun = bed.redis.begin().await?;
        tokio::time::sleep(window).await;
        redis.push(share(bed.redis.work(begun, &[]).await?.cpu, window));
        for (replica, before) in replicas.iter().zip(before) {
            processors.push(share(replica.busy()?.saturating_sub(before), window));
            memory.push(replica.memory("VmRSS:")?);
        }
    }
    for _ in 0..SCRAPES {
        tokio::time::sleep(BETWEEN_SCRAPES).await;
        let begun = Instant::now();
        let text = fetch(intake.address()?, "/metrics").await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        bytes.push(count(text.len()));
    }
    for role in replicas.into_iter().chain([intake]) {
        role.stop().await?;
    }
    Ok(vec![
        Figure::alone("idle-redis", &redis)?,
        Figure::alone("idle-processors", &processors)?,
        Figure::alone("idle-memory", &memory)?,
        Figure::alone("idle-scrape", &times)?,
        Figure::alone("idle-scrape-bytes", &bytes)?,
    ])
}

fn share(busy: Duration, window: Duration) -> f64 {
    busy.as_secs_f64() / window.as_secs_f64() * 100.0
}
