//! Service levels per tenant and endpoint, read as they were published, at three instances that get 1000 calls a second
//! of 25 tenants; one of them calls far too often. Counted by each instance and reported every second, and with shares
//! that an instance takes ahead.

mod load;
mod published;

use std::time::Duration;

use dripfeed_limit::{Consistency, Policies, Policy, PolicySettings, Request};

use self::load::{INSTANCES, LOAD, Load};
use crate::commands::{CommandStats, Commands, SCRIPTS};
use crate::error::LabError;
use crate::load::passes;
use crate::results::{ApproachLine, ChartData, Figure as _, Implementation, Results, Row};
use crate::testbed::Testbed;

const SLAS: &str = include_str!("service_levels/slas.yaml");
const SYNC: Duration = Duration::from_secs(1);
/// The additional calls until all counts are reported and read.
const TELLING: Duration = Duration::from_millis(50);
/// The limit of the loud tenant in a window of a minute.
const THRESHOLD: u64 = 600;
const WINDOW: Duration = Duration::from_secs(60);

const PUBLISHED_CALLS_PER_S: u64 = 75;
const PUBLISHED_P95_MS: u64 = 1;

/// The result of one kind of counting.
struct Run {
    load: Load,
    redis: Commands,
}

pub(crate) async fn run(testbed: &Testbed) -> Result<Results, LabError> {
    let replayed = published::run(testbed).await?;
    let counted = levels(testbed, "async", Consistency::Async { sync: SYNC }).await?;
    let leased = levels(testbed, "leased", Consistency::Leased).await?;
    let per_s = |run: &Run| run.redis.calls.figure() / LOAD.as_secs_f64();
    let over = |run: &Run| run.load.loud().most_in_aligned(WINDOW, testbed.clock()).saturating_sub(THRESHOLD);
    let rows = vec![
        Row::new("async: calls of Redis a second", per_s(&counted))
            .published(PUBLISHED_CALLS_PER_S)
            .replayed(per_s(&replayed))
            .at_most(PUBLISHED_CALLS_PER_S),
        Row::new("async: added p95, ms", counted.load.p95_ms())
            .published(PUBLISHED_P95_MS)
            .replayed(replayed.load.p95_ms())
            .at_most(PUBLISHED_P95_MS),
        Row::new("async: calls above the 600 a minute of the loud tenant", over(&counted))
            .replayed(over(&replayed))
            .at_most(counted.load.unseen_by_others(2 * SYNC + TELLING)),
        Row::new("leased: calls of Redis a second", per_s(&leased)),
        Row::new("leased: added p95, ms", leased.load.p95_ms()).at_most(PUBLISHED_P95_MS),
        Row::new("leased: calls above the 600 a minute of the loud tenant", over(&leased)).exactly(0_u64),
    ];
    let per_s = THRESHOLD.figure() / WINDOW.as_secs_f64();
    let line = |label, whose, run: &Run| ApproachLine {
        label,
        whose,
        published: None,
        passes: run.load.loud(),
        allowed_per_s: per_s,
    };
    let lines = vec![
        line("the loud tenant: local counts, each reported every second", Implementation::Published, &replayed),
        line("the loud tenant: consistency async, sync 1s", Implementation::Ours, &counted),
        line("the loud tenant: consistency leased", Implementation::Ours, &leased),
    ];
    Ok(Results { rows, shown: ChartData::Lines { lines, load: LOAD } })
}

async fn levels(testbed: &Testbed, service: &str, consistency: Consistency) -> Result<Run, LabError> {
    let policies = counted_by(consistency)?;
    let mut limiters = Vec::new();
    for _ in 0..INSTANCES {
        limiters.push(testbed.limiter_by(service, policies.clone()).await?);
    }
    let before = CommandStats::so_far(testbed.store()).await?;
    let load = load::run(testbed, async |instance, tenant| {
        let path = format!("/v1/organizations/{tenant}/product/7");
        passes(&limiters[instance], &Request { tenant: Some(tenant), ..Request::new("GET", &path) }).await
    });
    let load = load.await?;
    for limiter in limiters {
        limiter.close().await?;
    }
    let redis = CommandStats::so_far(testbed.store()).await?.since(&before, &SCRIPTS);
    Ok(Run { load, redis })
}

/// Returns the published service levels, with this consistency between the instances.
fn counted_by(consistency: Consistency) -> Result<Policies, LabError> {
    let levels = dripfeed_limit::load::yaml(SLAS)?;
    let shared = |level: &Policy| Policy::new(PolicySettings { consistency, ..level.settings().clone() });
    let levels = levels.iter().map(shared).collect::<Result<_, _>>()?;
    Policies::new(levels).map_err(|error| LabError::Settings(error.to_string()))
}
