//! What a check costs in Redis, by its own count, when nothing else is asked of it. A window is filled from empty to
//! its limit, a queue to its bound. Other work on the machine only ever adds to it, so the lowest of some fillings is
//! reported.

use std::future::Future;

use dripfeed_bucket::{Bucket, Kind};
use dripfeed_store::Store;

use super::published::{BOUNDED_STREAM, SET_WINDOW};
use super::{LIMIT, WINDOW};
use crate::buckets;
use crate::commands::{CommandStats, SCRIPTS};
use crate::error::LabError;
use crate::load::{call, passes};
use crate::results::Row;
use crate::testbed::Testbed;

/// The number of windows and queues that are filled.
const TIMES: usize = 5;

const PUBLISHED_SET_US: f64 = 65.0;
const PUBLISHED_STREAM_US: f64 = 51.0;
const LOG: &str = "policies: [{ id: time, key: [caller], tiers: [{ kind: log, limit: 300, period: 10s }] }]";

pub(super) async fn rows(testbed: &Testbed) -> Result<[Row; 2], LabError> {
    let store = testbed.store();
    let set_window = us_per_check(store, async |time| {
        let mut call = SET_WINDOW.on(&[testbed.key(&format!("time:window:{time}"))]);
        Ok(store.run(call.arg(WINDOW.as_micros().to_string()).arg(LIMIT)).await?)
    });
    let set_window = set_window.await?;
    let limiter = testbed.limiter("time", LOG).await?;
    let log = us_per_check(store, async |time| passes(&limiter, &call(&time.to_string())).await).await?;
    let stream = us_per_check(store, async |time| {
        let mut call = BOUNDED_STREAM.on(&[testbed.key(&format!("time:stream:{time}"))]);
        Ok(store.run(call.arg(LIMIT).arg("tiger")).await?)
    });
    let stream = stream.await?;
    let mut bounded = Vec::new();
    for time in 0..TIMES {
        let name = buckets::name(&format!("time-{time}"))?;
        let settings = buckets::settings(name, Kind::Stream, LIMIT, ("30/s".parse()?, 1), 10);
        bounded.push(Bucket::new(testbed.connect().await?, settings));
    }
    let bucket = us_per_check(store, async |time| Ok(buckets::hand_in(&bounded[time]).await?)).await?;
    Ok([
        Row::new("window: µs of Redis per check", log)
            .published(PUBLISHED_SET_US)
            .replayed(set_window)
            .at_most(PUBLISHED_SET_US),
        Row::new("bounded stream: µs of Redis per check", bucket)
            .published(PUBLISHED_STREAM_US)
            .replayed(stream)
            .at_most(PUBLISHED_STREAM_US),
    ])
}

/// Makes calls until each of the windows or queues is full. Returns the lowest cost.
async fn us_per_check<F>(store: &Store, ask: impl Fn(usize) -> F) -> Result<f64, LabError>
where
    F: Future<Output = Result<bool, LabError>>,
{
    let mut lowest = f64::INFINITY;
    for time in 0..TIMES {
        let before = CommandStats::so_far(store).await?;
        for _ in 0..LIMIT {
            ask(time).await?;
        }
        lowest = lowest.min(CommandStats::so_far(store).await?.since(&before, &SCRIPTS).us_per_call());
    }
    Ok(lowest)
}
