use std::time::{Duration, Instant};

use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::{Side, other_bucket};
use crate::testbed::Testbed;
use crate::trials::drain::PATIENCE;
use crate::trials::{jobs, slow_load};
use crate::upstream::Detail;

const SIDE: Side = Side::Dripfeed;
/// Further buckets besides that of all rows.
const OTHERS: usize = 9999;
/// Time after the start until all lanes are on standby.
const SETTLE: Duration = Duration::from_secs(10);
/// Few, because each round has many jobs.
const ROUNDS: usize = 2;
/// Number of entries added by hand, each at another fraction of a second.
const BY_HAND: u32 = 5;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut many, mut one) = (<[Samples; 2]>::default(), <[Samples; 2]>::default());
    let mut by_hand = Samples::default();
    for _ in 0..ROUNDS {
        push(&mut one, &slow_load::measure(bed, SIDE).await?.latencies);
        bed.redis.empty().await?;
        let settings = Settings { others: OTHERS, ..Settings::default() };
        let intake = bed.intake(SIDE, &settings).await?;
        let processor = bed.processor(SIDE, &settings).await?;
        tokio::time::sleep(SETTLE).await;
        let found = slow_load::measure_on(bed, SIDE, &intake, |job| path(usize::try_from(job).unwrap_or(0))).await?;
        push(&mut many, &found.latencies);
        by_hand.push(longest_by_hand(bed).await?);
        intake.stop().await?;
        processor.stop().await?;
    }
    Ok(vec![
        Figure::against("first-p50", &many[0], &one[0])?,
        Figure::against("first-p99", &many[1], &one[1])?,
        Figure::alone("first-by-hand", &by_hand)?,
    ])
}

fn push([p50, p99]: &mut [Samples; 2], latencies: &Samples) {
    p50.push(latencies.quantile(0.5));
    p99.push(latencies.quantile(0.99));
}

fn path(job: usize) -> String {
    format!("/v1/buckets/{}/jobs", other_bucket(job))
}

/// The longest time in ms from XADD to the call, for the last buckets, which have had no job yet.
async fn longest_by_hand(bed: &Testbed) -> anyhow::Result<f64> {
    let mut times = Samples::default();
    for number in 0..BY_HAND {
        tokio::time::sleep(Duration::from_secs(1) + Duration::from_secs(number.into()) / BY_HAND).await;
        bed.upstream.note(Detail::Counts, 1);
        let key = format!("dripfeed:{{{}}}:jobs", other_bucket(OTHERS - 1 - usize::try_from(number)?));
        let begun = Instant::now();
        bed.redis.ask::<String>(&["XADD", &key, "*", "body", &jobs::body(0, jobs::BYTES)]).await?;
        let notes = bed.upstream.noted(1, PATIENCE).await?;
        let waited = notes.last.map_or(PATIENCE, |last| last.saturating_duration_since(begun));
        times.push(waited.as_secs_f64() * 1e3);
    }
    Ok(times.quantile(1.0))
}
