use std::sync::Arc;

use dripfeed_store::StoreError;
use thiserror::Error;

/// Why keys can't be read or changed at run time. Cheap to clone: one failed call may be the end of many requests.
#[derive(Clone, Debug, Error)]
pub enum KeyRegistryError {
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// A script answered something else than its Rust side reads: a bug, or somebody else's data under our keys.
    #[error("the answer of `{0}` can't be read")]
    Reply(&'static str),
}

impl From<StoreError> for KeyRegistryError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
