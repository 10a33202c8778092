use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::figure::{Figure, Samples};
use crate::load::{self, End, number};
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::drain::PATIENCE;
use crate::trials::{callers, jobs};
use crate::upstream::Detail;

const SIDE: Side = Side::Dripfeed;
/// Callers beyond `CALLED` are throttled.
const CALLERS: usize = 1000;
const CALLED: usize = 100;
const GLANCE: Duration = Duration::from_millis(20);

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let mut floors = Samples::default();
    let [mut added, mut throttled, mut none] = <[Samples; 3]>::default();
    for _ in 0..bed.volume.rounds {
        floors.push(callers::of_floor(bed).await?);
    }
    let floor = floors.quantile(0.5);
    for _ in 0..bed.volume.rounds {
        let without = us_per_job(bed, "", 0).await?;
        none.push(us_per_job(bed, &bounds(), 0).await?);
        let with = us_per_job(bed, &bounds(), CALLERS - CALLED).await?;
        throttled.push(with);
        added.push((with - without) / floor);
    }
    Ok(vec![Figure::alone("bounds", &added)?, Figure::against("bounds-throttled", &throttled, &none)?])
}

/// A limit of a call per hour for all callers except the first `CALLED`.
fn bounds() -> String {
    let mut text = "[buckets.bench.fair]\nrate = \"1/h\"\nmax_in_flight = 1\n".to_owned();
    for caller in 0..CALLED {
        // Writing into a String can't fail.
        _ = write!(
            text,
            "[buckets.bench.fair.flows.{caller}]\nrate = \"100000/s\"\nburst = 100000\nmax_in_flight = 100\n"
        );
    }
    text
}

/// Time of Redis per job of a hundred callers, while others are throttled.
async fn us_per_job(bed: &Testbed, more: &str, throttled: usize) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let settings = Settings { keys: CALLERS, more: more.to_owned(), ..Settings::default() };
    let intake = bed.intake(SIDE, &settings).await?;
    let waiting = throttle(bed, &intake, &settings, throttled).await?;
    let (address, jobs) = (intake.address()?, bed.volume.jobs / 2);
    let begun = bed.redis.begin().await?;
    load::run(address, &jobs::of_callers(address, 0..CALLED), End::Requests(jobs)).await?;
    bed.upstream.note(Detail::Counts, u64::MAX);
    let processor = bed.processor(SIDE, &settings).await?;
    bed.upstream.noted(jobs, PATIENCE).await?;
    bed.settled_but(SIDE, waiting).await?;
    let work = bed.redis.work(begun, SIDE.sent()).await?;
    processor.stop().await?;
    intake.stop().await?;
    Ok(work.commands.as_secs_f64() * 1e6 / number(jobs))
}

/// Submits jobs of callers that are throttled then. Returns how many stay, at least one per caller.
async fn throttle(bed: &Testbed, intake: &Role, settings: &Settings, callers: usize) -> anyhow::Result<u64> {
    if callers == 0 {
        return Ok(0);
    }
    let address = intake.address()?;
    // The first job of each caller may be called.
    for request in &*jobs::of_callers(address, CALLED..CALLED + callers) {
        let twice = std::sync::Arc::new(vec![request.clone()]);
        load::run(address, &twice, End::Requests(2)).await?;
    }
    let processor = bed.processor(SIDE, settings).await?;
    let begun = Instant::now();
    while bed.redis.ask::<usize>(&["ZCARD", "dripfeed:{bench}:throttled"]).await? < callers {
        anyhow::ensure!(begun.elapsed() < PATIENCE, "not all callers are throttled");
        tokio::time::sleep(GLANCE).await;
    }
    processor.stop().await?;
    bed.level(SIDE).await
}
