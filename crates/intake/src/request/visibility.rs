//! Which parts of a job a caller may see.

use dripfeed_auth::{Caller, Scope};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// The job's state and numbers.
    Numbers,
    /// Also the payload and the upstream's answer.
    Payloads,
}

impl Visibility {
    pub(crate) fn of(caller: &Caller) -> Self {
        if caller.may(Scope::Inspect) { Self::Payloads } else { Self::Numbers }
    }
}
