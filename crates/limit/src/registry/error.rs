use dripfeed_store::StoreError;
use thiserror::Error;

use crate::error::LimitError;

/// An error of the registry.
#[derive(Clone, Debug, Error)]
pub enum RegistryError {
    /// Redis has not answered since the start.
    #[error("the rules of services are not loaded yet: Redis is unavailable")]
    Unread,
    /// After [`super::Services::close`].
    #[error("the registry of services is closed")]
    Closed,
    #[error("the number of services is at its maximum of {0}")]
    ManyServices(usize),
    #[error("the rules of all services together would exceed {0} bytes")]
    ManyBytes(usize),
    /// Each try met another change.
    #[error("the rules are being changed by another request")]
    Contended,
    /// The change may have been made when the [`dripfeed_store::Certainty`] is unknown.
    #[error("the rules can't be changed")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Limit(#[from] LimitError),
}
