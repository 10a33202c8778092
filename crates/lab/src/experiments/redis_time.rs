//! What a decision costs in Redis, by its own count. Other work on the machine only ever adds to it, so the lowest of
//! some rounds is reported.

use dripfeed_limit::Limiter;
use futures::future::try_join_all;

use crate::commands::{CommandStats, SCRIPTS};
use crate::error::LabError;
use crate::load::{call, passes};
use crate::results::{ChartData, Results, Row};
use crate::testbed::Testbed;

const ROUNDS: usize = 60;
/// Concurrent callers, each with one call at a time, so that Redis is never idle: waiting for us would cost it time,
/// too.
const CALLERS: usize = 32;
const DECISIONS: usize = 32;

const THREE_TIERS: &str = "
policies:
  - id: three-tiers
    key: [caller]
    tiers:
      - { kind: bucket, rate: 1000000/s, burst: 1000000 }
      - { kind: fixed, rate: 1000000/h }
      - { kind: sliding, rate: 100000/h }";

const THREE_SCOPES: &str = "
policies:
  - id: caller
    key: [caller]
    tiers: [{ kind: bucket, rate: 1000000/s, burst: 1000000 }, { kind: fixed, rate: 1000000/h }]
  - id: endpoint
    key: [endpoint]
    tiers: [{ kind: bucket, rate: 1000000/s, burst: 1000000 }, { kind: fixed, rate: 1000000/h }]
  - id: all
    tiers: [{ kind: bucket, rate: 1000000/s, burst: 1000000 }, { kind: fixed, rate: 1000000/h }]";

pub(crate) async fn run(testbed: &Testbed) -> Result<Results, LabError> {
    let one_scope = us_per_decision(testbed, "one", THREE_TIERS).await?;
    let three_scopes = us_per_decision(testbed, "three", THREE_SCOPES).await?;
    let rows = vec![
        Row::new("3 tiers of one scope, µs", one_scope).at_most(10_u64),
        Row::new("3 scopes of 2 tiers, µs", three_scopes).at_most(20_u64),
    ];
    Ok(Results { shown: ChartData::Costs { unit: "µs of Redis per decision", rows: rows.clone() }, rows })
}

async fn us_per_decision(testbed: &Testbed, service: &str, policies: &str) -> Result<f64, LabError> {
    let limiter = testbed.limiter(service, policies).await?;
    let mut lowest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let before = CommandStats::so_far(testbed.store()).await?;
        try_join_all((0..CALLERS).map(|_| decide(&limiter))).await?;
        lowest = lowest.min(CommandStats::so_far(testbed.store()).await?.since(&before, &SCRIPTS).us_per_call());
    }
    Ok(lowest)
}

async fn decide(limiter: &Limiter) -> Result<(), LabError> {
    for _ in 0..DECISIONS {
        passes(limiter, &call("tiger")).await?;
    }
    Ok(())
}
