//! The error for job options that can't be sent as headers.

use http::HeaderValue;
use thiserror::Error;

/// An option that can't be sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadOption {
    #[error("invalid value of {0}: use visible characters without line breaks")]
    Value(String),
    #[error("`{0}` is not a header name")]
    HeaderName(String),
}

pub(crate) fn header_value(name: &str, text: &str) -> Result<HeaderValue, BadOption> {
    HeaderValue::from_str(text).map_err(|_| BadOption::Value(name.to_owned()))
}
