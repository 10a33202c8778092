//! Services and their rules.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(crate) struct Service {
    pub(crate) name: String,
    /// By policy.
    pub(crate) verdicts: BTreeMap<String, Verdicts>,
}

/// What this intake decided since it started.
#[derive(Default, Deserialize)]
pub(crate) struct Verdicts {
    pub(crate) allowed: u64,
    pub(crate) refused: u64,
    pub(crate) shadow_refused: u64,
    pub(crate) unchecked: u64,
}

#[derive(Deserialize)]
pub(crate) struct Rules {
    pub(crate) policies: Vec<Value>,
}
