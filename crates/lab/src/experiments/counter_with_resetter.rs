//! 200 calls per 500 ms, of three workers with 50 calls in flight each. The published way: a counter that everybody adds to,
//! and a leader that resets it each period. Ours: a bucket with that pace and three replicas, one of which is killed on the
//! way.

mod published;

use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketSettings, Kind};

use crate::buckets;
use crate::error::LabError;
use crate::findings::{Figure as _, Findings, Line, Row, Shown, Whose};
use crate::ground::{Ground, sleep_until};
use crate::passes::Passes;
use crate::replica::Replica;
use crate::upstream::Upstream;

const LIMIT: u64 = 200;
const PERIOD: Duration = Duration::from_millis(500);
const PER_S: f64 = 400.0;
const WORKERS: usize = 3;
const IN_FLIGHT: u32 = 50;
const LOAD: Duration = Duration::from_secs(10);
/// Of one call.
const UPSTREAM: Duration = Duration::from_millis(20);
/// What may come at once after a quiet time.
const BURST: u64 = 20;
const KILLED_AFTER: usize = 1300;

const ALLOWED: u64 = 4000;
const PUBLISHED: u64 = 4081;

pub(crate) async fn run(ground: &Ground) -> Result<Findings, LabError> {
    let replayed = published::run(ground).await?.within_first(LOAD);
    let ours = leak(ground).await?.within_first(LOAD);
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
    ];
    let lines = vec![
        Line {
            label: "INCR counter, reset every 500 ms by a leader",
            whose: Whose::Published,
            published: Some("4081 calls"),
            passes: replayed,
            allowed_per_s: PER_S,
        },
        Line {
            label: "bucket, leak.rate = \"200/500ms\"; one of three replicas killed on the way",
            whose: Whose::Ours,
            published: None,
            passes: ours,
            allowed_per_s: PER_S,
        },
    ];
    Ok(Findings { rows, shown: Shown::Lines { lines, load: LOAD } })
}

fn settings() -> Result<BucketSettings, LabError> {
    Ok(buckets::settings(
        buckets::name("resetter")?,
        Kind::Stream,
        2 * ALLOWED,
        ("200/500ms".parse()?, BURST),
        IN_FLIGHT,
    ))
}

async fn leak(ground: &Ground) -> Result<Passes, LabError> {
    let served = Upstream::new(UPSTREAM).serve().await?;
    let settings = settings()?;
    let bucket = Bucket::new(ground.connect().await?, settings.clone());
    bucket.pause().await?;
    for _ in 0..5 {
        buckets::fill(&bucket, 1000).await?;
    }
    let mut replicas = Vec::new();
    for _ in 0..WORKERS {
        replicas.push(Replica::start(ground, &settings, &served.url).await?);
    }
    bucket.resume().await?;
    served.upstream.has_got(1).await?;
    let Some(first) = served.upstream.passes().first() else { return Ok(Passes::default()) };
    served.upstream.has_got(KILLED_AFTER).await?;
    replicas.swap_remove(0).kill();
    sleep_until(first + LOAD).await;
    bucket.purge().await?;
    drop(replicas);
    Ok(served.upstream.passes())
}
