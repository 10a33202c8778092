//! Loops that run until 400 calls were allowed, with a limit of 300 calls in 10 s: gates, windows, and bounded queues
//! in front of a processor with the same rate.

mod published;
mod time_per_check;

use std::time::Duration;

use dripfeed_bucket::{Bucket, Kind};
use futures::try_join;

use crate::buckets;
use crate::call_log::PassedCalls;
use crate::error::LabError;
use crate::load::{call, for_as_long_as, passes, until_passed};
use crate::replica::Replica;
use crate::results::{ApproachLine, ChartData, Implementation, Results, Row};
use crate::testbed::Testbed;
use crate::upstream::Upstream;

const CALLS: usize = 400;
const LIMIT: u64 = 300;
const WINDOW: Duration = Duration::from_secs(10);
const PER_S: f64 = 30.0;
const SECOND: Duration = Duration::from_secs(1);
const BIN: Duration = Duration::from_millis(100);
/// The burst of a bucket: calls that the network may delay together.
const BURST: u64 = 3;
/// How long one caller tries a gate of one call a second.
const AT_THE_GATE: Duration = Duration::from_millis(4900);

const GATE: &str = "policies: [{ id: gate, tiers: [{ kind: gate, period: 33334us }] }]";
const GATE_OF_A_SECOND: &str = "policies: [{ id: second, tiers: [{ kind: gate, period: 1s }] }]";
const LOG: &str = "policies: [{ id: log, tiers: [{ kind: log, limit: 300, period: 10s }] }]";

pub(crate) async fn run(testbed: &Testbed) -> Result<Results, LabError> {
    let (gang, window, stream_before, list_before, gate, log, stream, list, gate_before, gate_now) = try_join!(
        published::gates(testbed),
        published::window(testbed),
        published::queue(testbed, published::Queue::Stream),
        published::queue(testbed, published::Queue::List),
        limited(testbed, GATE),
        limited(testbed, LOG),
        bucket(testbed, Kind::Stream),
        bucket(testbed, Kind::List),
        published::gate_of_a_second(testbed),
        one_caller(testbed),
    )?;
    let mut rows = vec![
        Row::new("gate: most calls in any 100 ms", gate.most_within(BIN))
            .replayed(gang.most_within(BIN))
            .at_most(4_u64),
        Row::new("gate: most calls in any second", gate.most_within(SECOND))
            .replayed(gang.most_within(SECOND))
            .at_most(30_u64),
        Row::new("gate of 1 s: calls of one caller in 4.9 s", gate_now.count())
            .replayed(gate_before.count())
            .exactly(5_u64),
        Row::new("window: most calls in any 10 s", log.most_within(WINDOW))
            .replayed(window.most_within(WINDOW))
            .at_most(LIMIT),
        Row::new("window: most calls in any second", log.most_within(SECOND)).replayed(window.most_within(SECOND)),
        Row::new("bounded stream: most calls in any second", stream.most_within(SECOND))
            .replayed(stream_before.most_within(SECOND))
            .at_most(30 + BURST),
        Row::new("bounded list: most calls in any second", list.most_within(SECOND))
            .replayed(list_before.most_within(SECOND))
            .at_most(30 + BURST),
    ];
    rows.extend(time_per_check::rows(testbed).await?);
    let line = |label, whose, passes| ApproachLine { label, whose, published: None, passes, allowed_per_s: PER_S };
    let lines = vec![
        line("a gate for each of 300 callers, by TTL", Implementation::Published, gang),
        line("kind gate, one call per 33.3 ms", Implementation::Ours, gate),
        line("sorted-set window", Implementation::Published, window),
        line("kind log, 300 per 10 s", Implementation::Ours, log),
        line("bounded stream, a processor at 30/s", Implementation::Published, stream_before),
        line("bucket of kind stream, leak.rate = \"30/s\"", Implementation::Ours, stream),
        line("bounded list, a processor at 30/s", Implementation::Published, list_before),
        line("bucket of kind list, leak.rate = \"30/s\"", Implementation::Ours, list),
    ];
    Ok(Results { rows, shown: ChartData::Lines { lines, load: WINDOW } })
}

async fn limited(testbed: &Testbed, policy: &str) -> Result<PassedCalls, LabError> {
    let limiter = &testbed.limiter("loops", policy).await?;
    until_passed(CALLS, |_| async { passes(limiter, &call("tiger")).await }).await
}

async fn one_caller(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let limiter = &testbed.limiter("loops", GATE_OF_A_SECOND).await?;
    for_as_long_as(AT_THE_GATE, crate::load::PAUSE, || async { passes(limiter, &call("tiger")).await }).await
}

/// The loop submits jobs; the calls that the upstream gets are counted.
async fn bucket(testbed: &Testbed, kind: Kind) -> Result<PassedCalls, LabError> {
    let served = Upstream::new(Duration::ZERO).serve().await?;
    let settings = buckets::settings(buckets::name(kind.as_str())?, kind, LIMIT, ("30/s".parse()?, BURST), 10);
    let bucket = &Bucket::new(testbed.connect().await?, settings.clone());
    let _replica = Replica::start(testbed, &settings, &served.url).await?;
    until_passed(CALLS, |_| async { Ok(buckets::hand_in(bucket).await?) }).await?;
    served.upstream.has_got(CALLS).await?;
    Ok(served.upstream.passes())
}
