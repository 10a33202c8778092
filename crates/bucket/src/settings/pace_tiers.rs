//! The tiers of a pace, in addition to its rate.

use dripfeed_limit::{LoadError, Tier, load};
use serde_json::Value as Json;

/// The tiers of a pace, in addition to its rate, and their source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaceTiers {
    written: Vec<Json>,
    tiers: Vec<Tier>,
}

impl PaceTiers {
    /// Reads a list that is part of another document, where its name is `place`.
    ///
    /// # Errors
    /// Each fault with its place: a tier that can't be read, or of a kind that a pace can't have.
    pub fn read(place: &str, written: Vec<Json>) -> Result<Self, LoadError> {
        Ok(Self { tiers: load::pace(place, written.clone())?, written })
    }

    #[must_use]
    pub fn written(&self) -> &[Json] {
        &self.written
    }

    pub(crate) fn tiers(&self) -> &[Tier] {
        &self.tiers
    }
}
