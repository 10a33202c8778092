use dripfeed_store::StoreError;
use thiserror::Error;

use crate::policy::PolicyId;

/// Why there is no decision.
#[derive(Clone, Debug, Error)]
pub enum LimitError {
    /// Redis can't be asked, and the policy doesn't let requests pass unchecked: answer 503.
    /// Without a source: the reply stayed out for longer than a decision may take.
    #[error("the limit `{policy}` can't be checked: Redis is unavailable")]
    Unavailable { policy: PolicyId, source: Option<StoreError> },
    /// What was charged stays charged until it is over on its own.
    #[error("could not return leases to Redis")]
    NotRefunded(#[source] StoreError),
    /// What a script reported can't be read.
    #[error("unexpected reply of the script `decide`; does another version of dripfeed use the same Redis keys?")]
    Reply,
    /// What a policy asks for isn't there where it is used.
    #[error("the policy `{policy}` needs {what}")]
    NotHere { policy: PolicyId, what: &'static str },
}
