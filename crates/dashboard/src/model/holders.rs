//! The callers with the most jobs, and refusals by limit.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Holders {
    pub(crate) items: Vec<Holder>,
    pub(crate) callers: u64,
    /// By limit.
    pub(crate) limits: BTreeMap<String, LimitCounts>,
    /// The most refusals first.
    pub(crate) refused: Vec<RefusedCaller>,
}

/// Refusals of a caller by a limit.
#[derive(Deserialize)]
pub(crate) struct RefusedCaller {
    pub(crate) caller: String,
    pub(crate) limit: String,
    pub(crate) refused: u64,
}

#[derive(Deserialize)]
pub(crate) struct Holder {
    pub(crate) caller: String,
    pub(crate) jobs: u64,
    pub(crate) bytes: u64,
}

/// The decisions of an intake since it started.
#[derive(Deserialize)]
pub(crate) struct LimitCounts {
    pub(crate) allowed: u64,
    pub(crate) refused: u64,
    pub(crate) shadow_refused: u64,
}
