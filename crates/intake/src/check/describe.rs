//! What a decision looks like, for the API description: the limit crate writes it.

#![expect(dead_code, reason = "the fields are read by the derive alone")]

use utoipa::ToSchema;

/// Whether a request may pass.
#[derive(ToSchema)]
pub(super) struct Verdict {
    allowed: bool,
    /// Until it may; null: it may now, or waiting doesn't help.
    retry_after_ms: Option<u64>,
    /// That of the rule, when it may not.
    message: Option<String>,
    /// Those that were asked.
    policies: Vec<PolicyVerdict>,
}

#[derive(ToSchema)]
struct PolicyVerdict {
    id: String,
    /// `enforce`, or `shadow`: then it isn't heeded.
    mode: String,
    allowed: bool,
    tiers: Vec<TierVerdict>,
}

#[derive(ToSchema)]
struct TierVerdict {
    kind: String,
    limit: u64,
    /// How many requests of cost 1 may pass now.
    remaining: u64,
    /// Until all of it is left again.
    reset_ms: u64,
}
