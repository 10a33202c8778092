//! Additional members of some problems.

use std::fmt;

use serde::Serialize;
use utoipa::ToSchema;

/// Additional members of some problems.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = More)]
pub(crate) struct ProblemMembers {
    /// Milliseconds after which to retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_after_ms: Option<u64>,
    /// False: the request will always be refused; don't retry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retryable: Option<bool>,
    /// Whether Redis stored the request: `not_stored` or `unknown`. Only for writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<&'static str>,
    /// The detail for a request that stores nothing, where that isn't the usual one.
    #[serde(skip)]
    pub(super) detail_of_read: Option<&'static str>,
    /// The ids of the violated limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) violated_policies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) level: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) capacity: Option<u64>,
    /// All invalid options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) options: Vec<BadOption>,
    /// All faults of a body that is accepted as a whole or not at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) faults: Vec<FieldError>,
    #[serde(flatten)]
    pub(super) place: FaultPlace,
}

/// Position of the fault in the body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Place)]
pub(crate) struct FaultPlace {
    /// Index of the batch item, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<usize>,
    /// The path of a member, such as `leak.rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<String>,
    /// Counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// In bytes, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct BadOption {
    /// The header, or the member of `options` in a batch.
    pub(crate) name: String,
    pub(crate) reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Fault)]
pub(crate) struct FieldError {
    /// The path of a member, such as `policies[0].tiers[1]`; empty: the whole body.
    pub(crate) place: String,
    pub(crate) reason: String,
}

impl BadOption {
    pub(crate) fn new(name: &str, reason: impl Into<String>) -> Self {
        Self { name: shortened(name.to_owned(), LONGEST_NAME), reason: shortened(reason.into(), LONGEST_TEXT) }
    }
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

/// Maximum number of characters of a caller's text that a problem repeats.
pub(super) const LONGEST_NAME: usize = 128;
pub(super) const LONGEST_TEXT: usize = 1024;

pub(super) fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}
