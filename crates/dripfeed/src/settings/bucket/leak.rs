//! `[….leak]`: the rate limit of calls.

use std::time::Duration;

use dripfeed_bucket::{Leak, PaceTiers};
use dripfeed_job::Rate;
use serde::Deserialize;
use serde_json::Value as Json;

use super::order::check_order;
use crate::settings::deserialize;
use crate::settings::read::{Reader, SectionPath, wording};
use crate::settings::tree;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct LeakSection {
    #[serde(deserialize_with = "deserialize::rate_or_none")]
    rate: Option<Rate>,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    burst: u64,
    pub(super) tiers: Vec<Json>,
    adaptive: bool,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    concurrency: u16,
    #[serde(deserialize_with = "deserialize::zero_is_none")]
    max_in_flight: Option<u64>,
    #[serde(deserialize_with = "deserialize::time")]
    max_hold: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    default_hold: Duration,
}

/// `place`: of the bucket. Returns `None` after reporting an error.
pub(super) fn read(reader: &mut Reader<'_>, place: &SectionPath<'_>, section: LeakSection) -> Option<Leak> {
    let LeakSection { rate, burst, tiers, adaptive, concurrency, max_in_flight, max_hold, default_hold } = section;
    let errors = reader.count();
    check_order(reader, place, "leak", [("default_hold", default_hold), ("max_hold", max_hold)]);
    if let Some(error) = Leak::fault(rate, burst) {
        reader.error(&place.of(reader.tree, &["leak".into(), "burst".into()]), error);
    }
    let tiers = read_tiers(reader, place, tiers)?;
    let concurrency = concurrency.into();
    let leak = Leak { rate, burst, tiers, adaptive, concurrency, max_in_flight, max_hold, default_hold };
    (reader.count() == errors).then_some(leak)
}

pub(super) fn read_tiers(reader: &mut Reader<'_>, place: &SectionPath<'_>, tiers: Vec<Json>) -> Option<PaceTiers> {
    let report = |error: dripfeed_limit::LoadError| {
        let tiers = place.of(reader.tree, &["leak".into(), "tiers".into()]);
        for error in error.faults() {
            let below = tree::steps(error.place.trim_start_matches("tiers"));
            reader.error(&[&tiers[..], &below].concat(), wording::plain(&error.message, None));
        }
    };
    PaceTiers::read("tiers", tiers).map_err(report).ok()
}
