use anyhow::Context as _;

use crate::client::Connection;
use crate::figure::{Figure, Samples, count};
use crate::load::{self, End};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::drain::PATIENCE;
use crate::trials::jobs;
use crate::upstream::Detail;

const SIDE: Side = Side::Dripfeed;
const AHEAD: u64 = 10_000;
/// Number of checked calls.
const CALLS: u64 = 1000;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut one, mut ten) = (Samples::default(), Samples::default());
    for _ in 0..bed.volume.rounds {
        one.push(calls_before(bed, 1).await?);
        ten.push(calls_before(bed, 10).await?);
    }
    Ok(vec![Figure::alone("behind-one", &one)?, Figure::alone("behind-ten", &ten)?])
}

/// The number of calls before the job of another caller, one call at a time, so that they are in the order of turns.
async fn calls_before(bed: &Testbed, callers: usize) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let settings = Settings { keys: callers + 1, concurrency: 1, ..Settings::default() };
    let intake = bed.intake(SIDE, &settings).await?;
    let address = intake.address()?;
    let crowd = jobs::batches_of_callers(address, 0..callers);
    load::run(address, &crowd, End::Requests(AHEAD / jobs::BATCH)).await?;
    let last = jobs::of_caller(address, callers, &jobs::body(1, jobs::BYTES));
    let status = Connection::open(address).await?.exchange(&last).await?;
    anyhow::ensure!(status == 202, "the answer is {status}");
    bed.upstream.note(Detail::Bodies, CALLS);
    let processor = bed.processor(SIDE, &settings).await?;
    let notes = bed.upstream.noted(CALLS, PATIENCE).await?;
    processor.stop().await?;
    intake.stop().await?;
    let before = notes.bodies.iter().position(|body| jobs::stamp(body).is_ok_and(|stamp| stamp == 1));
    before.map(count).context("the job isn't among the first thousand calls")
}
