//! The rolling log with a minimum gap, under a client that never slows down; counts that a replica keeps on its own and
//! reports from time to time; and several tiers in one round trip.

mod published;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use futures::try_join;

use crate::call_log::PassedCalls;
use crate::commands::{CommandStats, SCRIPTS};
use crate::error::LabError;
use crate::load::{call, for_as_long_as, passes};
use crate::results::{ApproachLine, ChartData, Figure as _, Implementation, Results, Row};
use crate::testbed::Testbed;

const LIMIT: u64 = 20;
const WINDOW: Duration = Duration::from_secs(1);
const GAP: Duration = Duration::from_millis(25);
const PER_S: f64 = 20.0;
const LOAD: Duration = Duration::from_secs(5);
/// The time between the calls of a client that never slows down.
const PAUSE: Duration = Duration::from_millis(4);

const LOG: &str = "policies: [{ id: log, tiers: [{ kind: log, limit: 20, period: 1s, min_gap: 25ms }] }]";
const COUNTING_DENIED: &str =
    "policies: [{ id: denied, tiers: [{ kind: log, limit: 20, period: 1s, count_denied: true }] }]";
/// The interval of reports in these policies.
const SYNC: Duration = Duration::from_millis(500);
const TOLD_NOW_AND_THEN: &str = "
policies: [{ id: reported, key: [caller], consistency: async, sync: 500ms,
    tiers: [{ kind: fixed, limit: 100000, period: 1h }] }]";

pub(crate) async fn run(testbed: &Testbed) -> Result<Results, LabError> {
    let (replayed, log, counting) =
        try_join!(published::rolling_log(testbed), hammered(testbed, LOG), hammered(testbed, COUNTING_DENIED),)?;
    let mut rows = vec![
        Row::new("calls of a client that never slows down, in 5 s", log.count())
            .replayed(replayed.count())
            .at_least(95_u64),
        Row::new("most calls in any second", log.most_within(WINDOW))
            .replayed(replayed.most_within(WINDOW))
            .at_most(LIMIT),
        Row::new("calls less than 25 ms after another", log.closer_than(GAP)).exactly(0_u64),
        Row::new("count_denied: calls of that client, in 5 s", counting.count()).at_most(LIMIT),
        told_now_and_then(testbed).await?,
    ];
    for tiers in [1, 3, 5] {
        let row =
            Row::new(format!("calls of Redis per decision, {tiers} tiers"), calls_per_decision(testbed, tiers).await?);
        rows.push(row.exactly(1_u64));
    }
    let line = |label, whose, passes| ApproachLine { label, whose, published: None, passes, allowed_per_s: PER_S };
    let lines = vec![
        line("rolling log, in which every try counts", Implementation::Published, replayed),
        line("kind log, 20/s, min_gap 25ms", Implementation::Ours, log),
        line("kind log, 20/s, count_denied", Implementation::Ours, counting),
    ];
    Ok(Results { rows, shown: ChartData::Lines { lines, load: LOAD } })
}

async fn hammered(testbed: &Testbed, policies: &str) -> Result<PassedCalls, LabError> {
    let limiter = &testbed.limiter("log", policies).await?;
    for_as_long_as(LOAD, PAUSE, || async { passes(limiter, &call("tiger")).await }).await
}

/// Two replicas with ten callers each count for 2 s: four times the sync. Before its first decision on a counter a
/// replica reads it; then it reports all of them together, the last time when it ends.
async fn told_now_and_then(testbed: &Testbed) -> Result<Row, LabError> {
    const REPLICAS: u64 = 2;
    const CALLERS: u64 = 10;
    let (before, begun) = (CommandStats::so_far(testbed.store()).await?, Instant::now());
    let replica = async || {
        let limiter = &testbed.limiter("told", TOLD_NOW_AND_THEN).await?;
        let callers: Vec<String> = (0..CALLERS).map(|caller| caller.to_string()).collect();
        let asked = for_as_long_as(Duration::from_secs(2), PAUSE, || async {
            let mut allowed = true;
            for caller in &callers {
                allowed &= passes(limiter, &call(caller)).await?;
            }
            Ok(allowed)
        });
        let asked = asked.await?.count();
        limiter.close().await?;
        Ok::<u64, LabError>(asked * CALLERS)
    };
    let (one, other) = try_join!(replica(), replica())?;
    let syncs = (begun.elapsed().as_secs_f64() / SYNC.as_secs_f64()).ceil();
    let calls = CommandStats::so_far(testbed.store()).await?.since(&before, &SCRIPTS).calls;
    let counters = REPLICAS * CALLERS;
    let what =
        format!("async, sync 500 ms: calls of Redis for {} decisions by {counters} counters in 2 s", one + other);
    Ok(Row::new(what, calls).at_most(counters.figure() + REPLICAS.figure() * (syncs + 1.0)))
}

async fn calls_per_decision(testbed: &Testbed, tiers: u64) -> Result<f64, LabError> {
    const DECISIONS: u64 = 200;
    let mut policy = format!("policies: [{{ id: tiers-{tiers}, tiers: [");
    for tier in 1..=tiers {
        let _ = write!(policy, "{{ kind: fixed, limit: 10000, period: {tier}h }}, ");
    }
    policy.push_str("] }]");
    let limiter = testbed.limiter("tiers", &policy).await?;
    // Loads the script into Redis.
    passes(&limiter, &call("tiger")).await?;
    let before = CommandStats::so_far(testbed.store()).await?;
    for _ in 0..DECISIONS {
        passes(&limiter, &call("tiger")).await?;
    }
    let calls = CommandStats::so_far(testbed.store()).await?.since(&before, &SCRIPTS).calls;
    Ok(calls.figure() / DECISIONS.figure())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[tokio::test]
    async fn counts_that_are_reported_cost_a_read_of_each_counter_and_a_call_for_each_sync() {
        let testbed = Testbed::private().await.unwrap();
        // If the machine is suspended, an answer is late, and the counter is read once more.
        let mut rows = Vec::new();
        loop {
            let row = told_now_and_then(&testbed).await.unwrap();
            if row.held() == Some(true) {
                return testbed.leave().await.unwrap();
            }
            rows.push(row.cells());
            assert!(rows.len() < 5, "{rows:?}");
        }
    }
}
