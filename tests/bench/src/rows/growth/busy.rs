use std::sync::Arc;
use std::time::Duration;

use crate::figure::{Figure, Samples};
use crate::load::{self, End, Requests, per_s};
use crate::settings::Settings;
use crate::side::{Side, other_bucket};
use crate::testbed::Testbed;
use crate::trials::drain::{PATIENCE, between};
use crate::trials::jobs;
use crate::upstream::Detail;

const SIDE: Side = Side::Dripfeed;
const BUSY: usize = 100;
const MANY: usize = 9999;
/// Time after the start until all idle lanes are on standby.
const SETTLE: Duration = Duration::from_secs(10);

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut among, mut alone) = (Samples::default(), Samples::default());
    for round in 0..bed.volume.rounds {
        for others in if round.is_multiple_of(2) { [BUSY, MANY] } else { [MANY, BUSY] } {
            let samples = if others == MANY { &mut among } else { &mut alone };
            samples.push(called_per_s(bed, others).await?);
        }
    }
    Ok(vec![Figure::against("busy", &among, &alone)?])
}

/// Calls per second, from the first to the last. Busy buckets are paused while they are filled, and the processor is
/// idle then.
async fn called_per_s(bed: &Testbed, others: usize) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let more = "[defaults]\ncapacity = 1000000\n".to_owned();
    let settings = Settings { others, more, ..Settings::default() };
    let intake = bed.intake(SIDE, &settings).await?;
    let processor = bed.processor(SIDE, &settings).await?;
    tokio::time::sleep(SETTLE).await;
    let address = intake.address()?;
    let each = u64::try_from(BUSY)?;
    let count = bed.volume.jobs / each * each;
    let of = |verb: &str, body: &str| -> Requests {
        let path = |bucket| format!("/v1/buckets/{}/{verb}", other_bucket(bucket));
        Arc::new((0..BUSY).map(|bucket| jobs::post_to(address, &path(bucket), body)).collect())
    };
    one_by_one(address, &of("pause", "")).await?;
    load::run(address, &of("jobs", &jobs::body(0, jobs::BYTES)), End::Requests(count)).await?;
    bed.upstream.note(Detail::Counts, u64::MAX);
    one_by_one(address, &of("resume", "")).await?;
    let notes = bed.upstream.noted(count, PATIENCE).await?;
    intake.stop().await?;
    processor.stop().await?;
    Ok(per_s(count, between(&notes)?))
}

async fn one_by_one(address: std::net::SocketAddr, requests: &Requests) -> anyhow::Result<()> {
    let mut connection = crate::client::Connection::open(address).await?;
    for request in &**requests {
        let status = connection.exchange(request).await?;
        anyhow::ensure!(status == 200, "a bucket can't be paused or resumed: {status}");
    }
    Ok(())
}
