//! Versions of resources: `ETag`, `If-Match` and `If-None-Match`.

use clap::Args;
use dripfeed_client::ApiResponse;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};
use serde_json::Value as Json;

use crate::exit::{Exit, Failure};

/// For commands that create or replace something.
#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    /// Fail if it exists; by default it is replaced
    #[arg(long)]
    create: bool,
}

impl CreateArgs {
    pub(crate) fn headers(&self) -> HeaderMap {
        self.create.then_some((IF_NONE_MATCH, HeaderValue::from_static("*"))).into_iter().collect()
    }
}

/// Returns the version in a response, or null.
pub(crate) fn version(response: &ApiResponse) -> Json {
    let tag = response.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    tag.map(|tag| Json::from(tag.trim_matches('"'))).unwrap_or_default()
}

/// # Errors
/// When the text can't be a version.
pub(crate) fn if_match(version: Option<&str>) -> Result<HeaderMap, Failure> {
    let tag = version.map(|version| HeaderValue::try_from(format!("\"{version}\""))).transpose();
    let tag = tag.map_err(|_| Failure::new(Exit::Usage, "--if-match isn't a version"))?;
    Ok(tag.into_iter().map(|tag| (IF_MATCH, tag)).collect())
}
