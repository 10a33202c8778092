//! A service registers how often it may be called, three gateways ask before each call: the sliding-window counter.
//! First the published example at the times that it names, then a live load.

mod at_times;
mod published;

use std::time::Duration;

use futures::future::try_join_all;
use futures::try_join;

use crate::call_log::{PassedCall, PassedCalls};
use crate::error::LabError;
use crate::load::{call, for_as_long_as, passes};
use crate::results::{ApproachLine, ChartData, Implementation, Results, Row};
use crate::testbed::Testbed;

pub(crate) const LIMIT: u64 = 40;
pub(crate) const WINDOW: Duration = Duration::from_secs(2);
const PER_S: f64 = 20.0;
const GATEWAYS: usize = 3;
/// Concurrent decisions of each gateway.
const AT_ONCE: usize = 4;
const LOAD: Duration = Duration::from_secs(6);
const PAUSE: Duration = Duration::from_millis(10);

const POLICIES: &str = "policies: [{ id: gateway, tiers: [{ kind: sliding, limit: 40, period: 2s }] }]";

pub(crate) async fn run(testbed: &Testbed) -> Result<Results, LabError> {
    let example = at_times::example(testbed).await?;
    // Starts at the beginning of a window, so that no window is incomplete.
    tokio::time::sleep(testbed.clock().until_next(WINDOW)).await;
    let (replayed, ours) = try_join!(gateways_published(testbed), gateways(testbed))?;
    let in_window = |passes: &PassedCalls| passes.most_in_aligned(WINDOW, testbed.clock());
    let rows = vec![
        Row::new("the estimate after 40 calls, a quarter into the next window and 5 calls, of 40", example.estimate)
            .published(35_u64)
            .replayed(published::estimate(40, 5, 0.25))
            .exactly(35_u64),
        Row::new("calls that pass there until one is refused", example.more)
            .replayed(published::more(40, 5, 0.25, LIMIT))
            .exactly(5_u64),
        Row::new("live: most calls in one window of 40", in_window(&ours))
            .replayed(in_window(&replayed))
            .at_most(LIMIT),
        Row::new("live: calls in 6 s", ours.count()).replayed(replayed.count()),
    ];
    let line = |label, whose, passes| ApproachLine { label, whose, published: None, passes, allowed_per_s: PER_S };
    let lines = vec![
        line("counters read, judged, then added to", Implementation::Published, replayed),
        line("kind sliding, 40 per 2 s", Implementation::Ours, ours),
    ];
    Ok(Results { rows, shown: ChartData::Lines { lines, load: LOAD } })
}

async fn gateways(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let mut asking = Vec::new();
    for _ in 0..GATEWAYS {
        let limiter = testbed.limiter("gateway", POLICIES).await?;
        for _ in 0..AT_ONCE {
            let limiter = limiter.clone();
            asking.push(async move {
                for_as_long_as(LOAD, PAUSE, || async { passes(&limiter, &call("tiger")).await }).await
            });
        }
    }
    Ok(merged(&try_join_all(asking).await?))
}

async fn gateways_published(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let mut asking = Vec::new();
    for _ in 0..GATEWAYS {
        let store = testbed.connect().await?;
        for _ in 0..AT_ONCE {
            let store = store.clone();
            asking.push(async move { for_as_long_as(LOAD, PAUSE, || published::ask(testbed, &store)).await });
        }
    }
    Ok(merged(&try_join_all(asking).await?))
}

fn merged(all: &[PassedCalls]) -> PassedCalls {
    PassedCalls::of(all.iter().flat_map(PassedCalls::iter).copied().collect::<Vec<PassedCall>>())
}
