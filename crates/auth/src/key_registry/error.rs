use std::sync::Arc;

use dripfeed_store::StoreError;
use thiserror::Error;

/// Why keys can't be read or changed. Cheap to clone, because one failed call may fail many requests.
#[derive(Clone, Debug, Error)]
pub enum KeyRegistryError {
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// The reply of a script can't be parsed: a bug, or others have changed our data.
    #[error("the answer of `{0}` can't be read")]
    Reply(&'static str),
}

impl From<StoreError> for KeyRegistryError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
