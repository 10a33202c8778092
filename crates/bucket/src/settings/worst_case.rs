//! How much of Redis' memory a bucket takes at most, worked out from its settings. The constants were measured on
//! Redis, and a test compares the sum with `used_memory`.

use crate::settings::{BucketSettings, Kind};

/// Redis' allocator rounds what is stored up by as much as a quarter.
const ROUNDING: (u64, u64) = (5, 4);
/// A job that outlives those beside it keeps its whole node of the stream, which is 4 KiB; then its places in the
/// pending list, the attempts and the parked jobs.
const JOB_OF_A_STREAM: u64 = 6 << 10;
const JOB_OF_A_LIST: u64 = 512;
/// Its places in hash and zset.
const OUTCOME: u64 = 320;
/// As a job of a stream, and its place in the index.
const LETTER: u64 = 5 << 10;
/// The name of 255 bytes, with its caller's id and the bucket's, twice; the value; the places in hash or zset.
const IDEMPOTENCY_KEY: u64 = 1280;
/// One letter is kept, however large. No script moves a larger job.
const LARGEST: u64 = 4 << 20;
/// Counters, members, changes.
const BUCKET: u64 = 64 << 10;

/// What an installation takes beside its buckets: Redis itself, its connections, and the answers to batches, which are
/// kept for some seconds: those of 20,000 admissions a second.
pub const INSTALLATION: u64 = 80 << 20;

impl BucketSettings {
    /// The most bytes of Redis' memory that this bucket takes. The state of limits isn't in it.
    #[must_use]
    pub fn most_memory(&self) -> u64 {
        let stored = |bytes: u64| bytes.saturating_mul(ROUNDING.0) / ROUNDING.1;
        let each = |count: u64, bytes: u64| count.saturating_mul(bytes);
        let job = match self.kind {
            Kind::Stream => JOB_OF_A_STREAM,
            Kind::List => JOB_OF_A_LIST,
        };
        let keep = &self.keep;
        [
            stored(self.capacity_bytes),
            each(self.capacity, job),
            stored(keep.outcomes_bytes),
            each(keep.most_outcomes, OUTCOME),
            stored(keep.dead_bytes.saturating_add(LARGEST.min(self.capacity_bytes))),
            each(keep.most_dead, LETTER),
            each(keep.most_idempotency_keys, IDEMPOTENCY_KEY),
            BUCKET,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}
