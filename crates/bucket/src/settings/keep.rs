//! What is kept of ended work, as the scripts read it (record.lua).

use dripfeed_job::duration::ms_up;

use crate::settings::{Keep, WhenDeadFull};

impl Keep {
    /// Whether this many dead letters hold the bucket.
    pub(crate) fn is_held_by(&self, letters: u64, bytes: u64) -> bool {
        self.when_dead_full == WhenDeadFull::Hold && (letters >= self.most_dead || bytes >= self.dead_bytes)
    }

    /// ms to keep idempotency keys from the end of their jobs on.
    pub(crate) fn keys_ms(&self) -> u64 {
        ms_up(self.idempotency_keys)
    }

    /// ms to keep outcomes, the most of them and of their bytes, then the same of dead letters, and ms to keep
    /// idempotency keys from the end of their jobs on, and 1 where a full dead letter queue holds the bucket.
    pub(crate) fn packed(&self) -> String {
        let numbers = [
            ms_up(self.outcomes),
            self.most_outcomes,
            self.outcomes_bytes,
            ms_up(self.dead),
            self.most_dead,
            self.dead_bytes,
            self.keys_ms(),
            u64::from(self.when_dead_full == WhenDeadFull::Hold),
        ];
        numbers.map(|number| number.to_string()).join(" ")
    }
}
