//! The rows, in the order in which they run.

/// A table of rows: name, description, and function.
macro_rules! rows {
    ($table:ident: $($name:literal, $about:literal, $measure:path;)*) => {
        pub(crate) static $table: &[Row] =
            &[$(Row { name: $name, about: $about, run: |bed| Box::pin($measure(bed)) }),*];
    };
}

mod accepted;
mod batch;
mod bytes;
mod ceilings;
mod drain;
mod fsync;
pub(crate) mod growth;
mod idle;
mod large;
mod latency;
mod limits;
mod many;
mod paced;
mod page;
mod peak;
mod peers;
mod redis_time;
mod refused;
mod tabs;
mod traces;

use futures::future::BoxFuture;

use crate::figure::Figure;
use crate::testbed::Testbed;

type Measured<'b> = BoxFuture<'b, anyhow::Result<Vec<Figure>>>;

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: for<'b> fn(&'b Testbed) -> Measured<'b>,
}

rows! { ROWS:
    "accepted", "POSTs at 64 connections into a bucket that never fills", accepted::measure;
    "refused", "POSTs at 64 connections to a full bucket of 1000 jobs", refused::measure;
    "drain", "a full bucket, drained with 200 calls in flight", drain::measure;
    "redis", "time of Redis per job, under load", redis_time::measure;
    "bytes", "memory of Redis per job", bytes::measure;
    "latency", "a hundred jobs a second, one at a time", latency::measure;
    "idle", "roles without work", idle::measure;
    "many", "a processor of 1,000 buckets in which nothing is to be done", many::measure;
    "limits", "a limit of three tiers for each of 10,000 callers", limits::measure;
    "batch", "batches of 100 jobs", batch::measure;
    "fsync", "flushed to the disk before each answer", fsync::measure;
    "large", "a bucket of 1,000 jobs and a large one", large::measure;
    "peak", "memory of a processor that has 200 calls with bodies of 8 KB in flight", peak::measure;
    "tabs", "POSTs as in `accepted`, while the page is open in three tabs", tabs::measure;
    "traces", "POSTs as in `accepted`, while one of a hundred is traced", traces::measure;
    "page", "the page: its first load, its assets, and frames of 1,000 buckets", page::measure;
    "ceilings", "the libraries without a queue", ceilings::measure;
    "paced", "three replicas at half the floor's drain rate", paced::measure;
}

// Only for `bench peers`, because they need more than cargo to build.
rows! { PEERS:
    "accepted", "POSTs at 64 connections into a bucket that never fills", peers::accepted;
    "refused", "POSTs at 64 connections to a full bucket of 1000 jobs", peers::refused;
    "drain", "a full bucket, drained with 200 calls in flight", peers::drain;
    "bytes", "memory of Redis per job", peers::bytes;
}
