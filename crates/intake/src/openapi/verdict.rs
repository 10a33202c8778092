//! The schema of a decision, which the limit crate serializes.

#![expect(dead_code, reason = "the fields are read by the derive alone")]

use utoipa::ToSchema;

/// Whether a request is allowed.
#[derive(ToSchema)]
pub(crate) struct Verdict {
    allowed: bool,
    /// Milliseconds after which to retry; null: allowed, or a retry can't succeed.
    retry_after_ms: Option<u64>,
    /// The message of the violated policy.
    message: Option<String>,
    /// The policies that apply.
    policies: Vec<PolicyVerdict>,
}

#[derive(ToSchema)]
struct PolicyVerdict {
    id: String,
    /// `enforce`, or `shadow`, which never refuses.
    mode: String,
    allowed: bool,
    tiers: Vec<TierVerdict>,
}

#[derive(ToSchema)]
struct TierVerdict {
    kind: String,
    limit: u64,
    /// The number of requests of cost 1 that are allowed now; at most `limit`, also where a burst allows more.
    remaining: u64,
    /// Milliseconds until the full quota is available.
    reset_ms: u64,
}
