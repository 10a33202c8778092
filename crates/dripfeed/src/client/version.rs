//! Versions of resources: `ETag` and `If-Match`.

use dripfeed_client::ApiResponse;
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, HeaderValue};
use serde_json::Value as Json;

use crate::exit::{Exit, Failure};

/// The version in an answer, or null.
pub(crate) fn version(answer: &ApiResponse) -> Json {
    let tag = answer.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    tag.map(|tag| Json::from(tag.trim_matches('"'))).unwrap_or_default()
}

/// # Errors
/// When it can't be a version.
pub(crate) fn if_match(version: Option<&str>) -> Result<HeaderMap, Failure> {
    let tag = version.map(|version| HeaderValue::try_from(format!("\"{version}\""))).transpose();
    let tag = tag.map_err(|_| Failure::new(Exit::Usage, "--if-match isn't a version"))?;
    Ok(tag.into_iter().map(|tag| (IF_MATCH, tag)).collect())
}
