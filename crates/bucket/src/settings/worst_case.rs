//! The maximum memory that a bucket uses in Redis, computed from its settings. The constants were measured, and a test
//! compares the sum with `used_memory`.

use crate::define::put_definition::DefinitionBounds;
use crate::settings::{BucketSettings, Kind};

/// The allocator of Redis rounds up the size of values, by up to a quarter.
const ROUNDING: (u64, u64) = (5, 4);

const fn stored(bytes: u64) -> u64 {
    bytes.saturating_mul(ROUNDING.0) / ROUNDING.1
}

/// A job that outlives its neighbours keeps a whole node of the stream, which is 4 KiB. The rest is for its entries in
/// the pending list, the attempts and the parked jobs.
const JOB_OF_A_STREAM: u64 = 6 << 10;
/// The entries in both zsets of a job that is the only one in its range and in its flow.
const TURN: u64 = 768;
/// With limits for callers: the entry of a throttled flow, and the flow of a job in flight.
const BOUNDED_TURN: u64 = 768;
/// The state of one caller's limits. Callers without jobs have one, too, up to `MOST_FLOW_STATES` (bound_states.lua).
const FLOW_STATE: u64 = 192;
/// The state of each further rate of a caller.
const FLOW_TIER: u64 = 32;
const MOST_FLOW_STATES: u64 = 100_000;
const JOB_OF_A_LIST: u64 = 512;
/// Its entries in a hash and a zset.
const OUTCOME: u64 = 320;
/// A node of the stream, as for a job, and its entry in the index.
const LETTER: u64 = 5 << 10;
/// A node of the stream, as for a job: one that waits longer than others keeps it.
const OUTCOME_JOB: u64 = 5 << 10;
/// Its name, stored twice: 255 bytes, the bucket's name, and its caller's id, each byte of which may be escaped. Then
/// its value, and its entries in a hash or a zset.
const IDEMPOTENCY_KEY: u64 = 1552;
/// Its state, its next tick, and its entries in two hashes and a zset.
const SCHEDULE: u64 = 640;
/// Maximum bytes of a job that a script moves. One dead letter is kept whatever its size.
const LARGEST: u64 = 4 << 20;
/// Counters, members, changes, the audit log, background replays and refused callers, each at its maximum size.
const BUCKET: u64 = 336 << 10;
/// The history of the last day, with the maximum number and size of slots. A test fills it.
const HISTORY: u64 = 64 << 10;

/// The memory of an installation without its buckets: Redis, its connections, the heap of Lua (some MiB, which Redis
/// counts since 7.4), the answers to batches, which are kept for some seconds (at 20,000 admissions a second), and the
/// maximum number of API keys created over the API.
pub const INSTALLATION: u64 = 96 << 20;

const MIB: u64 = 1 << 20;

impl BucketSettings {
    /// Returns the maximum memory of this bucket in Redis, without counters of limits.
    #[must_use]
    pub fn most_memory(&self) -> u64 {
        let each = |count: u64, bytes: u64| count.saturating_mul(bytes);
        let job = match self.kind {
            Kind::Stream => JOB_OF_A_STREAM + TURN,
            Kind::List => JOB_OF_A_LIST,
        };
        let is_bounded = self.fair.is_bounded();
        let (turn, states) = if is_bounded { (BOUNDED_TURN, MOST_FLOW_STATES) } else { (0, 0) };
        let tiers = u64::try_from(self.fair.most_tiers()).unwrap_or(u64::MAX);
        let keep = &self.keep;
        let [outbox_bytes, most_outbox] = match &self.on_outcome {
            on_outcome if on_outcome.is_empty() => [0, 0],
            on_outcome => [on_outcome.bytes, on_outcome.most],
        };
        [
            stored(self.capacity_bytes),
            each(self.capacity, job + turn),
            each(states, tiers.saturating_mul(FLOW_TIER).saturating_add(FLOW_STATE)),
            stored(keep.outcomes_bytes),
            each(keep.most_outcomes, OUTCOME),
            each(keep.most_failed.min(self.capacity), stored(self.failed_attempts_of_a_job())),
            stored(keep.dead_bytes.saturating_add(LARGEST.min(self.capacity_bytes))),
            each(keep.most_dead, LETTER),
            each(keep.most_idempotency_keys, IDEMPOTENCY_KEY),
            stored(outbox_bytes),
            each(most_outbox, OUTCOME_JOB),
            stored(self.schedules_bytes),
            each(self.most_schedules, SCHEDULE),
            BUCKET,
            HISTORY,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    fn failed_attempts_of_a_job(&self) -> u64 {
        match self.kind {
            Kind::Stream => u64::from(self.keep.failed_attempts).saturating_mul(self.keep.failed_bytes()),
            // A job of a list has no retries: its first failed attempt ends it.
            Kind::List => 0,
        }
    }
}

impl DefinitionBounds {
    /// Returns the maximum memory of the bodies and counters of all buckets created over the API. The overhead of their
    /// jobs and records isn't included, because it depends on definitions that don't exist yet.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        stored(self.bytes).saturating_add(self.most.saturating_mul(BUCKET + HISTORY))
    }
}

/// Returns a warning if `maxmemory` is too low or not set, else `None`. `limits`: `maxmemory` of each server. `needed`:
/// the maximum of all buckets together.
#[must_use]
pub fn memory_shortfall(limits: &[u64], needed: u64) -> Option<String> {
    let what_to_do = "raise maxmemory, or lower capacity, capacity_bytes or keep of the buckets";
    if limits.contains(&0) {
        let needed = needed.div_ceil(MIB);
        return Some(format!(
            "maxmemory of Redis isn't set; set it to at least {needed} MiB, the most that the buckets can use"
        ));
    }
    let given = limits.iter().fold(0, |sum: u64, limit| sum.saturating_add(*limit));
    (given < needed).then(|| {
        let (given, needed) = (given / MIB, needed.div_ceil(MIB));
        format!(
            "maxmemory of Redis is {given} MiB, and the buckets can use {needed} MiB; when it is full, new jobs are \
                refused: {what_to_do}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_that_may_be_defined_count_with_their_bytes_and_what_each_takes_when_empty() {
        let of = |most, bytes| DefinitionBounds { most, bytes }.memory();
        assert_eq!(of(0, 4 << 20), 5 << 20);
        assert_eq!(of(10, 0), 10 * (BUCKET + HISTORY));
        assert_eq!(of(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn memory_is_missing_where_the_buckets_may_take_more_or_nothing_is_set() {
        assert_eq!(memory_shortfall(&[100 << 20], 100 << 20), None);
        assert_eq!(memory_shortfall(&[50 << 20, 50 << 20], 100 << 20), None);
        assert!(
            memory_shortfall(&[100 << 20], (100 << 20) + 1)
                .is_some_and(|text| text.contains("maxmemory of Redis is 100 MiB, and the buckets can use 101 MiB"))
        );
        assert!(memory_shortfall(&[0], 1).is_some_and(|text| text.contains("maxmemory of Redis isn't set")));
    }
}
