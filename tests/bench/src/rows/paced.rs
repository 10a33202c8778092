use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::future::try_join_all;

use crate::figure::{Figure, Samples, count};
use crate::load::{number, per_s};
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{drain, jobs};
use crate::upstream::Detail;

const REPLICAS: usize = 3;
/// The burst is the rate of a twentieth of a second.
const BURST_SHARE: u64 = 20;
/// Warm-up after the first call, until the burst is used up, and all replicas have started.
const WARM: Duration = Duration::from_secs(2);
/// The windows in which calls are counted, from each call on.
const WINDOWS: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// Measures calls when they arrive, which a busy upstream may bunch. The test of the promise measures when they are
/// sent.
pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let floor = drain::measure(bed, Side::Floor, bed.volume.jobs, jobs::BYTES).await?;
    // Rounded to hundreds.
    let per_second = (floor.calls * 1000 / u64::try_from(floor.took.as_millis())?.max(1) / 200 * 100).max(100);
    let settings = Settings { rate: Some((per_second, per_second / BURST_SHARE)), ..Settings::default() };
    let seconds = (bed.volume.paced + WARM).as_secs();
    let needed = (per_second * (seconds + 2)).next_multiple_of(jobs::BATCH);

    bed.redis.empty().await?;
    let intake = bed.intake(Side::Dripfeed, &settings).await?;
    jobs::fill(bed, Side::Dripfeed, &intake, needed, jobs::BYTES).await?;
    intake.stop().await?;
    bed.upstream.note(Detail::Arrivals, u64::MAX);
    let replicas = try_join_all((0..REPLICAS).map(|_| bed.processor(Side::Dripfeed, &settings))).await?;
    tokio::time::sleep(bed.volume.paced + WARM).await;
    let arrivals = bed.upstream.so_far().arrivals;
    for stopped in replicas.into_iter().map(Role::stop) {
        stopped.await?;
    }
    bed.redis.empty().await?;

    let first = *arrivals.first().context("no call was made")? + WARM;
    let steady = arrivals.iter().filter(|at| **at >= first).count();
    let took = arrivals.last().context("no call was made")?.saturating_duration_since(first);
    let [mut calls, mut rate, mut excess] = <[Samples; 3]>::default();
    calls.push(per_s(u64::try_from(steady)?, took));
    rate.push(number(per_second));
    excess.push(most_above(&arrivals, per_second));
    Ok(vec![Figure::against("paced", &calls, &rate)?, Figure::alone("paced-excess", &excess)?])
}

/// Calls above rate · w + burst in the fullest window; 0 if none is.
fn most_above(arrivals: &[Instant], per_second: u64) -> f64 {
    let mut most = 0.0_f64;
    for window in WINDOWS {
        let allowed = number(per_second) * window.as_secs_f64() + number(per_second / BURST_SHARE);
        let mut first = arrivals.iter().enumerate();
        let mut begin = first.next();
        for (end, at) in arrivals.iter().enumerate() {
            while begin.is_some_and(|(_, begun)| at.saturating_duration_since(*begun) >= window) {
                begin = first.next();
            }
            let begun = begin.map_or(end, |(begun, _)| begun);
            most = most.max(count(end + 1 - begun) - allowed);
        }
    }
    most
}
