//! The keys of `[buckets.NAME]` and `[defaults]`.

use std::path::PathBuf;
use std::time::Duration;

use dripfeed_bucket::{
    Fair, FairBy, FlowBounds, FlowTiers, Kind, MaxShare, NamedFlows, OnOutcome, OutcomeTarget, Weights,
};
use dripfeed_job::{BucketName, Ending, Rate, Retry};
use serde::Deserialize;
use serde_json::Value as Json;

use super::keep::KeepSection;
use super::leak::LeakSection;
use crate::settings::deserialize;
use crate::settings::upstream::headers::SecretHeaders;
use crate::settings::upstream::signing::SigningSecrets;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct Section {
    pub(super) upstream: Option<String>,
    pub(super) upstream_ca_file: PathBuf,
    pub(super) method: String,
    #[serde(deserialize_with = "deserialize::time")]
    pub(super) timeout: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    pub(super) connect_timeout: Duration,
    pub(super) headers: SecretHeaders,
    pub(super) headers_file: PathBuf,
    pub(super) signing_secret: SigningSecrets,
    pub(super) signing_secret_file: PathBuf,
    pub(super) allow_private: bool,
    #[serde(deserialize_with = "deserialize::size")]
    pub(super) max_answer: u64,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) capacity: u64,
    #[serde(deserialize_with = "deserialize::size")]
    pub(super) capacity_bytes: u64,
    #[serde(deserialize_with = "deserialize::share_or_none")]
    pub(super) max_share: Option<MaxShare>,
    pub(super) most_schedules: u64,
    #[serde(deserialize_with = "deserialize::size")]
    pub(super) schedules_bytes: u64,
    pub(super) fair: FairSection,
    pub(super) kind: ConfiguredKind,
    pub(super) key: String,
    pub(super) leak: LeakSection,
    pub(super) retry: RetrySection,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) deliveries: u32,
    pub(super) keep: KeepSection,
    #[serde(deserialize_with = "deserialize::one_or_many")]
    pub(super) on_outcome: Vec<TargetSection>,
    pub(super) forward_client_address: bool,
    pub(super) limits: Vec<Json>,
}

impl Section {
    pub(super) fn on_outcome(&self) -> OnOutcome {
        let target = |TargetSection { bucket, outcomes }: &TargetSection| OutcomeTarget {
            bucket: bucket.clone(),
            outcomes: outcomes.clone(),
        };
        OnOutcome {
            targets: self.on_outcome.iter().map(target).collect(),
            most: self.keep.most_outbox,
            bytes: self.keep.outbox_bytes,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { bucket = \"events\", outcomes = [\"dead\"] }")]
pub(super) struct TargetSection {
    #[serde(deserialize_with = "deserialize::name")]
    pub(super) bucket: BucketName,
    pub(super) outcomes: Vec<Ending>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ConfiguredKind {
    Stream,
    List,
}

impl ConfiguredKind {
    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Stream => Kind::Stream,
            Self::List => Kind::List,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct FairSection {
    pub(super) by: FairBy,
    pub(super) weights: Weights,
    #[serde(deserialize_with = "deserialize::rate_or_none")]
    pub(super) rate: Option<Rate>,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) burst: u64,
    pub(super) tiers: FlowTiers,
    #[serde(deserialize_with = "deserialize::zero_is_none")]
    pub(super) max_in_flight: Option<u64>,
    pub(super) flows: NamedFlows,
}

impl FairSection {
    pub(super) fn settings(self) -> Fair {
        let Self { by, weights, rate, burst, tiers, max_in_flight, flows } = self;
        Fair { by, weights, bounds: FlowBounds { rate, burst, tiers, max_in_flight }, flows }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct RetrySection {
    #[serde(deserialize_with = "deserialize::one_or_more")]
    pub(super) attempts: u32,
    #[serde(deserialize_with = "deserialize::time")]
    pub(super) first: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    pub(super) max: Duration,
}

impl RetrySection {
    pub(super) const fn settings(&self) -> Retry {
        let Self { attempts, first, max } = *self;
        Retry { attempts, first, max }
    }
}
