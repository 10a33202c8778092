use dripfeed_store::StoreError;
use thiserror::Error;

use crate::error::LimitError;

/// Why the registry can't do what it is asked for.
#[derive(Clone, Debug, Error)]
pub enum RegistryError {
    /// Redis has not answered since the start.
    #[error("the rules of services are not known yet: Redis can't be asked")]
    Unread,
    /// After [`super::Services::close`].
    #[error("the registry of services is closed")]
    Closed,
    #[error("{0} services are registered, and no more may be")]
    ManyServices(usize),
    #[error("the rules of all services together would take more than {0} bytes")]
    ManyBytes(usize),
    /// The change may have been made when the [`dripfeed_store::Certainty`] is unknown.
    #[error("the rules can't be changed")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Limit(#[from] LimitError),
}
