//! 200 calls per 500 ms, of three workers with 50 calls in flight each. The published way: a counter that everybody
//! adds to, and a leader that resets it each period. Ours: a bucket with that pace, evenly and in each period, and
//! three replicas, one of which is killed on the way.

mod periods;
mod published;

use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketSettings, Kind, PaceTiers};
use serde_json::json;

use self::periods::{PERIOD, Periods, Takes};
use crate::buckets;
use crate::call_log::PassedCalls;
use crate::error::LabError;
use crate::replica::Replica;
use crate::results::{ApproachLine, ChartData, Figure as _, Implementation, Results, Row};
use crate::testbed::{Testbed, sleep_until};
use crate::upstream::Upstream;

const LIMIT: u64 = 200;
const PER_S: f64 = 400.0;
const WORKERS: usize = 3;
const IN_FLIGHT: u32 = 50;
const LOAD: Duration = Duration::from_secs(10);
/// The duration of one call.
const UPSTREAM: Duration = Duration::from_millis(50);
/// The burst after an idle time.
const BURST: u64 = 20;
const KILLED_AFTER: usize = 1300;

const BUCKET: &str = "resetter";
const ALLOWED: u64 = 4000;
const PUBLISHED: u64 = 4081;

pub(crate) async fn run(testbed: &Testbed) -> Result<Results, LabError> {
    let replayed = published::run(testbed).await?.within_first(LOAD);
    let (ours, periods) = leak(testbed).await?;
    let seen = 100.0 * periods.known.figure() / ours.count().figure();
    let ours = ours.within_first(LOAD);
    let share = 100.0 * ours.count().figure() / ALLOWED.figure();
    let rows = vec![
        Row::new("calls in 10 s, where 4000 are allowed", ours.count())
            .published(PUBLISHED)
            .replayed(replayed.count())
            .at_most(ALLOWED + BURST),
        Row::new("of what is allowed, %", share).published(102.0).at_least(99.0),
        Row::new("most calls in any 500 ms", ours.most_within(PERIOD))
            .replayed(replayed.most_within(PERIOD))
            .at_most(LIMIT + BURST),
        Row::new("most calls let go in one period", periods.most_in_one).at_most(LIMIT),
        Row::new("of all calls, those whose period is known, %", seen).at_least(99.0),
    ];
    let lines = vec![
        ApproachLine {
            label: "INCR counter, reset every 500 ms by a leader",
            whose: Implementation::Published,
            published: Some("4081 calls"),
            passes: replayed,
            allowed_per_s: PER_S,
        },
        ApproachLine {
            label: "bucket, rate 200/500ms and fixed 200 per 500 ms; one of three replicas killed on the way",
            whose: Implementation::Ours,
            published: None,
            passes: ours,
            allowed_per_s: PER_S,
        },
    ];
    Ok(Results { rows, shown: ChartData::Lines { lines, load: LOAD } })
}

fn settings() -> Result<BucketSettings, LabError> {
    let rate = ("200/500ms".parse()?, BURST);
    let mut settings = buckets::settings(buckets::name(BUCKET)?, Kind::Stream, 2 * ALLOWED, rate, IN_FLIGHT);
    settings.leak.tiers =
        PaceTiers::read("tiers", vec![json!({ "kind": "fixed", "limit": LIMIT, "period": "500ms" })])?;
    Ok(settings)
}

async fn leak(testbed: &Testbed) -> Result<(PassedCalls, Periods), LabError> {
    let served = Upstream::new(UPSTREAM).serve().await?;
    let settings = settings()?;
    let bucket = Bucket::new(testbed.connect().await?, settings.clone());
    bucket.pause().await?;
    for _ in 0..5 {
        buckets::fill(&bucket, 1000).await?;
    }
    let mut replicas = Vec::new();
    for _ in 0..WORKERS {
        replicas.push(Replica::start(testbed, &settings, &served.url).await?);
    }
    let leaking = async {
        bucket.resume().await?;
        served.upstream.has_got(KILLED_AFTER).await?;
        replicas.swap_remove(0).kill();
        if let Some(first) = served.upstream.passes().first() {
            sleep_until(first + LOAD).await;
        }
        Ok::<(), LabError>(())
    };
    let mut takes = Takes::default();
    let jobs = testbed.jobs_key(BUCKET);
    tokio::select! {
        leaked = leaking => leaked?,
        failed = takes.watch(testbed.store(), &jobs) => failed?,
    }
    let (passes, calls) = (served.upstream.passes(), served.upstream.jobs());
    bucket.purge().await?;
    drop(replicas);
    Ok((passes, takes.periods(&calls, testbed.clock())))
}
