//! The remedy for a full bucket.

use crate::model::bucket::Row;
use crate::parts::leak;

/// The remedy depends on what limits the calls of its jobs. `capacity` is the setting that it has reached. Callers fill
/// it, or buckets whose `on_outcome` names it.
pub(super) fn words(bucket: &Row, capacity: &str) -> String {
    let first = match bucket.reason.as_str() {
        "paused" => format!("resume it, raise {capacity}"),
        _ if bucket.replicas == 0 => format!("start a processor, raise {capacity}"),
        "dead_full" | "outbox_full" => format!("let it leak again, raise {capacity}"),
        // A higher rate would be refused.
        "held" | "refusals" | "timeouts" => format!("raise {capacity}"),
        "no_rate" => format!("raise leak.concurrency or {capacity}"),
        _ if leak::is_slow(bucket) => format!("raise leak.concurrency or {capacity}"),
        _ => format!("raise leak.rate or {capacity}"),
    };
    format!("{first}, or slow down what fills it")
}
