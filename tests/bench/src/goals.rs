//! All figures, the figures that they are compared with, and their goals. If a figure depends on the speed of the
//! machine, its goal is a ratio to the floor of the same run.

/// The allowed range of a figure's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
    /// No goal; only shown.
    None,
}

use Bound::{AtLeast, AtMost, Between, None as Shown};

#[derive(Debug)]
pub(crate) struct Goal {
    pub(crate) figure: &'static str,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// The figure that a ratio is to; empty if the figure itself is compared with the bound.
    pub(crate) base: &'static str,
    pub(crate) bound: Bound,
}

const fn goal(figure: &'static str, what: &'static str, unit: &'static str, base: &'static str, bound: Bound) -> Goal {
    Goal { figure, what, unit, base, bound }
}

#[rustfmt::skip]
pub(crate) static GOALS: &[Goal] = &[
    goal("accepted", "accepted POSTs", "1/s", "floor", AtLeast(1.1)),
    goal("accepted-intake", "CPU of the intake per accepted POST", "µs", "floor", Shown),
    goal("accepted-load", "busy share of the load's core", "%", "floor", Shown),
    goal("refused", "429s when full", "1/s", "floor", AtLeast(1.2)),
    goal("drain", "jobs called and settled", "1/s", "floor", AtLeast(1.0)),
    goal("drain-processor", "CPU of the processor per job", "µs", "floor", Shown),
    goal("redis", "Redis commands per job, in + out, under load", "µs", "floor", AtMost(1.2)),
    goal("redis-in", "Redis commands per job, in", "µs", "floor", Shown),
    goal("redis-out", "Redis commands per job, out", "µs", "floor", Shown),
    goal("redis-cpu", "CPU of Redis per job, in + out", "µs", "floor", Shown),
    goal("redis-limits", "Redis commands per job, in + out, with a 3-tier caller limit", "µs", "floor", AtMost(2.5)),
    goal("redis-longest", "longest script", "µs", "floor", Shown),
    goal("bytes-queued", "Redis memory per queued job of 256 B", "B", "", AtMost(400.0)),
    goal("bytes-left", "Redis memory per outcome kept", "B", "", AtMost(130.0)),
    goal("bytes-floor", "Redis memory per queued job of the floor", "B", "", Shown),
    goal("latency-p50", "POST to upstream at 100 jobs/s, p50", "µs", "floor", AtMost(1.15)),
    goal("latency-p99", "POST to upstream at 100 jobs/s, p99", "µs", "floor", AtMost(1.5)),
    goal("latency-redis", "Redis commands per lone job, in + out", "µs", "floor", AtMost(4.0)),
    goal("idle-intake", "idle memory of the intake", "MiB", "", AtMost(12.0)),
    goal("idle-processor", "idle memory of the processor", "MiB", "", AtMost(12.0)),
    goal("idle-intake-floor", "idle memory of the floor's intake", "MiB", "", Shown),
    goal("idle-processor-floor", "idle memory of the floor's processor", "MiB", "", Shown),
    goal("idle-intake-cpu", "idle CPU of the intake", "%", "", AtMost(0.5)),
    goal("idle-processor-cpu", "idle CPU of the processor", "%", "", AtMost(0.5)),
    goal("ready-intake", "time until the intake is ready", "ms", "floor", AtMost(2.0)),
    goal("ready-processor", "time until the processor is ready", "ms", "floor", AtMost(2.0)),
    goal("many-connections", "connections of a processor of 1,000 idle buckets", "", "", AtMost(4.0)),
    goal("many-processor", "CPU of a processor of 1,000 idle buckets", "%", "", AtMost(0.5)),
    goal("many-redis", "CPU of Redis, a processor of 1,000 idle buckets", "%", "", AtMost(1.0)),
    goal("many-redis-one", "CPU of Redis, a processor of one idle bucket", "%", "", Shown),
    goal("many-memory", "memory of a processor that 999 more idle buckets add", "MiB", "", AtMost(10.0)),
    goal("limits", "accepted POSTs, 3-tier limit, 10,000 callers", "1/s", "no limits", AtLeast(0.8)),
    goal("limits-keys", "accepted POSTs, 10,000 API keys", "1/s", "no keys", Shown),
    goal("batch", "jobs accepted in batches of 100", "1/s", "single POSTs", AtLeast(4.0)),
    goal("fsync", "accepted POSTs, class fsync", "1/s", "everysec", AtLeast(0.5)),
    goal("growth", "time per job in a large bucket", "µs", "10^3 jobs", Between(0.0, 1.1)),
    goal("peak", "peak memory of the processor, bodies of 8 KB", "MiB", "", AtMost(30.0)),
    goal("tabs", "accepted POSTs, the page open in three tabs", "1/s", "no page", AtLeast(0.97)),
    goal("traces", "accepted POSTs, one of a hundred traced", "1/s", "no traces", AtLeast(0.95)),
    goal("page-frame", "a frame of 1,000 buckets", "B", "", AtMost(100_000.0)),
    goal("page-drawn", "the page's first event of 1,000 buckets", "B", "", AtMost(100_000.0)),
    goal("page-assets", "all assets of the page", "B", "", AtMost(120_000.0)),
    goal("page-first", "the first page, one at a time", "µs", "a file of its size", AtMost(3.0)),
    goal("paced", "calls over 3 replicas", "1/s", "rate", Between(0.999, 1.001)),
    goal("paced-excess", "calls above rate · w + burst, as they arrive", "", "", AtMost(0.0)),
    goal("echo", "bare axum echo", "1/s", "", Shown),
    goal("xadd", "bare XADD, pipelined by 100", "1/s", "", Shown),
    goal("calls", "bare hyper client, 200 connections", "1/s", "", Shown),
    goal("peers-accepted", "accepted POSTs", "1/s", "BullMQ", AtLeast(3.0)),
    goal("peers-accepted-dripfeed", "accepted POSTs, dripfeed", "1/s", "floor", Shown),
    goal("peers-accepted-bullmq", "accepted POSTs, BullMQ with fastify", "1/s", "floor", Shown),
    goal("peers-accepted-nginx", "POSTs that nginx passes on without a queue", "1/s", "floor", Shown),
    goal("peers-refused", "429s when full", "1/s", "BullMQ", Shown),
    goal("peers-refused-dripfeed", "429s when full, dripfeed", "1/s", "floor", Shown),
    goal("peers-refused-bullmq", "429s when full, BullMQ with fastify", "1/s", "floor", Shown),
    goal("peers-refused-nginx", "429s of nginx, whatever there is", "1/s", "floor", Shown),
    goal("peers-drain", "jobs called and settled", "1/s", "BullMQ", AtLeast(7.0)),
    goal("peers-drain-dripfeed", "jobs called and settled, dripfeed", "1/s", "floor", Shown),
    goal("peers-drain-bullmq", "jobs called and settled, BullMQ", "1/s", "floor", Shown),
    goal("peers-bytes", "Redis memory per queued job of 256 B", "B", "BullMQ", Shown),
    goal("peers-bytes-dripfeed", "Redis memory per queued job, dripfeed", "B", "floor", Shown),
    goal("peers-bytes-bullmq", "Redis memory per queued job, BullMQ", "B", "floor", Shown),
    goal("flood", "p99 wait of nine callers, a tenth floods 10,000", "ms", "no flood", AtMost(2.0)),
    goal("flood-p50", "p50 wait of nine callers, a tenth floods 10,000", "ms", "no flood", Shown),
    goal("behind-one", "calls before one job behind 10,000 of one caller", "", "", AtMost(1.0)),
    goal("behind-ten", "calls before one job behind 1,000 of each of 10 callers", "", "", AtMost(10.0)),
    goal("fair-none", "Redis time that fair adds per job, no backlog", "floors", "", AtMost(0.2)),
    goal("fair-one", "Redis time that fair adds per job, 1 caller", "floors", "", AtMost(0.5)),
    goal("fair-ten", "Redis time that fair adds per job, 10 callers", "floors", "", AtMost(1.5)),
    goal("fair-thousand", "Redis time that fair adds per job, 1,000 callers, one job each", "floors", "", AtMost(2.8)),
    goal("fair-none-off", "Redis time per job, fair off, no backlog", "floors", "", Shown),
    goal("fair-one-off", "Redis time per job, fair off, 1 caller", "floors", "", Shown),
    goal("fair-ten-off", "Redis time per job, fair off, 10 callers", "floors", "", Shown),
    goal("fair-thousand-off", "Redis time per job, fair off, 1,000 callers", "floors", "", Shown),
    goal("fair-floor", "Redis time per job of the floor", "µs", "", Shown),
    goal("bounds", "Redis time that limits per caller add per job, 900 of 1,000 throttled", "floors", "", AtMost(0.8)),
    goal("bounds-throttled", "Redis time per job, 900 throttled", "µs", "none throttled", AtMost(1.1)),
    goal("bytes-one", "bytes that fair adds per queued job, one caller", "B", "", AtMost(8.0)),
    goal("bytes-each", "bytes that fair adds per queued job, one job per caller", "B", "", AtMost(210.0)),
    goal("depth", "Redis time per job in a large bucket, 10 callers", "µs", "10^3 jobs", Between(0.9, 1.1)),
    goal("idle-redis", "CPU of Redis, 4 processors, 10,000 idle buckets", "%", "", AtMost(3.0)),
    goal("idle-processors", "CPU of each of 4 processors, 10,000 idle buckets", "%", "", Shown),
    goal("idle-memory", "memory of each of 4 processors, 10,000 idle buckets", "MiB", "", Shown),
    goal("idle-scrape", "one scrape of an intake, 10,000 idle buckets", "ms", "", AtMost(50.0)),
    goal("idle-scrape-bytes", "one scrape of an intake, 10,000 idle buckets", "B", "", AtMost(1_000_000.0)),
    goal("first-p50", "first job of one of 10,000 buckets to upstream, p50", "µs", "one bucket", AtMost(1.5)),
    goal("first-p99", "first job of one of 10,000 buckets to upstream, p99", "µs", "one bucket", AtMost(1.5)),
    goal("first-by-hand", "plain XADD into one of 10,000 idle buckets to upstream, longest", "ms", "", AtMost(1000.0)),
    goal("busy", "jobs called, 100 busy buckets of 10,000", "1/s", "100 alone", AtLeast(0.95)),
    goal("define", "1,000 buckets created over the API by one client", "s", "", AtMost(10.0)),
    goal("define-missing", "buckets that one of three intakes doesn't know 1 s later", "", "", AtMost(0.0)),
    goal("ticks", "10,000 jobs of schedules due in one second", "ms", "batch POSTs", AtMost(3.0)),
    goal("ticks-wrong", "ticks lost or doubled", "", "", AtMost(0.0)),
    goal("keda", "first POST to active by KEDA's push scaler, longest of five", "ms", "", AtMost(1000.0)),
];

impl Goal {
    pub(crate) fn of(figure: &str) -> anyhow::Result<&'static Self> {
        let goal = GOALS.iter().find(|goal| goal.figure == figure);
        goal.ok_or_else(|| anyhow::anyhow!("no figure is called {figure}"))
    }
}
