//! Refusals and errors of API keys as problems.

use std::error::Error;

use dripfeed_auth::KeyRegistryError;
use dripfeed_bucket::BucketError;

use super::{Code, Problem};

impl Problem {
    pub(crate) fn unknown_key() -> Self {
        let detail = "no key of this id was made that may do no more than yours; GET /v1/keys lists them";
        Self::new(Code::UnknownKey, detail)
    }

    pub(crate) fn configured_key() -> Self {
        let detail = "a key of this id is configured in a file, which wins: change it there, or use another id";
        Self::new(Code::ConfiguredKey, detail)
    }
}

impl From<KeyRegistryError> for Problem {
    fn from(error: KeyRegistryError) -> Self {
        match error {
            KeyRegistryError::Store(error) => BucketError::Store(error).into(),
            KeyRegistryError::Reply(_) => {
                tracing::error!(error = &error as &dyn Error, "request failed: API keys can't be read");
                Self::internal()
            }
        }
    }
}
