//! The keys of `keep` in `[buckets.NAME]` and `[defaults]`: which records of ended jobs are kept, and how many.

use std::time::Duration;

use dripfeed_bucket::{Keep, WhenDeadFull};
use serde::Deserialize;

use crate::settings::deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct KeepSection {
    #[serde(deserialize_with = "deserialize::time")]
    pub(super) outcomes: Duration,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) most_outcomes: u64,
    #[serde(deserialize_with = "deserialize::size")]
    pub(super) outcomes_bytes: u64,
    #[serde(deserialize_with = "deserialize::size_or_zero")]
    pub(super) answer: u64,
    pub(super) failed_attempts: u32,
    #[serde(deserialize_with = "deserialize::size_or_zero")]
    pub(super) failed_answer: u64,
    pub(super) most_failed: u64,
    #[serde(deserialize_with = "deserialize::time")]
    pub(super) idempotency_keys: Duration,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) most_idempotency_keys: u64,
    #[serde(deserialize_with = "deserialize::time")]
    pub(super) dead: Duration,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) most_dead: u64,
    #[serde(deserialize_with = "deserialize::size")]
    pub(super) dead_bytes: u64,
    pub(super) when_dead_full: ConfiguredWhenDeadFull,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) most_outbox: u64,
    #[serde(deserialize_with = "deserialize::size")]
    pub(super) outbox_bytes: u64,
}

impl KeepSection {
    /// Without the bounds of the outbox, which are those of `on_outcome`.
    pub(super) const fn settings(&self) -> Keep {
        Keep {
            outcomes: self.outcomes,
            most_outcomes: self.most_outcomes,
            outcomes_bytes: self.outcomes_bytes,
            answer_bytes: self.answer,
            failed_attempts: self.failed_attempts,
            failed_answer_bytes: self.failed_answer,
            most_failed: self.most_failed,
            idempotency_keys: self.idempotency_keys,
            most_idempotency_keys: self.most_idempotency_keys,
            dead: self.dead,
            most_dead: self.most_dead,
            dead_bytes: self.dead_bytes,
            when_dead_full: self.when_dead_full.settings(),
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ConfiguredWhenDeadFull {
    DropOldest,
    Hold,
}

impl ConfiguredWhenDeadFull {
    const fn settings(self) -> WhenDeadFull {
        match self {
            Self::DropOldest => WhenDeadFull::DropOldest,
            Self::Hold => WhenDeadFull::Hold,
        }
    }
}
