use dripfeed_store::StoreError;
use thiserror::Error;

use crate::policy::PolicyId;

/// Why no decision could be made.
#[derive(Clone, Debug, Error)]
pub enum LimitError {
    /// Redis is unavailable, and the policy doesn't allow unchecked requests: answer 503. Without a source if Redis
    /// didn't reply within the timeout of a decision.
    #[error("the limit `{policy}` can't be checked: Redis is unavailable")]
    Unavailable { policy: PolicyId, source: Option<StoreError> },
    /// The leases stay taken until they expire.
    #[error("could not return leases to Redis")]
    NotRefunded(#[source] StoreError),
    /// The reply of a script can't be parsed.
    #[error("unexpected reply of the script `decide`; does another version of dripfeed use the same Redis keys?")]
    Reply,
    /// Requests that are decided together have too many tiers: a long script would delay all other calls to Redis.
    #[error("the requests are checked against {tiers} tiers together: use at most {most}")]
    ManyTiers { tiers: usize, most: usize },
    /// A policy needs an attribute that isn't available here.
    #[error("the policy `{policy}` needs {what}")]
    NotHere { policy: PolicyId, what: &'static str },
}
