//! Refusals and errors of API keys as problems.

use std::error::Error;

use dripfeed_auth::KeyRegistryError;
use dripfeed_bucket::BucketError;

use super::{Code, Problem};

impl Problem {
    pub(crate) fn unknown_key() -> Self {
        let detail = "no key with this id was created over the API, or it has more permissions than yours; GET \
            /v1/keys lists the keys";
        Self::new(Code::UnknownKey, detail)
    }

    pub(crate) fn configured_key() -> Self {
        let detail = "a key with this id is in the configuration file, which takes precedence; change it there, or use \
            another id";
        Self::new(Code::ConfiguredKey, detail)
    }
}

impl From<KeyRegistryError> for Problem {
    fn from(error: KeyRegistryError) -> Self {
        match error {
            KeyRegistryError::Store(error) => BucketError::Store(error).into(),
            KeyRegistryError::Reply(_) => {
                tracing::error!(error = &error as &dyn Error, "request failed: could not parse the API keys in Redis");
                Self::internal()
            }
        }
    }
}
