//! For routes that are added to the API: their requests are authorized, read and refused as those of the API.

use dripfeed_auth::{Caller, Permission};
use http::HeaderMap;
use serde::de::DeserializeOwned;

use crate::intake::Intake;
use crate::problem::Problem;
use crate::request::access::Allowed;
use crate::request::json;

impl Intake {
    /// Returns the caller of a request that needs the permission `P`.
    ///
    /// # Errors
    /// When the key is missing, unknown or lacks the permission, or a page of another origin wants to change something.
    pub async fn authorize<P: Permission>(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        Allowed::<P>::of(headers, self).await.map(|allowed| allowed.caller)
    }
}

/// Parses a body that is one JSON object.
///
/// # Errors
/// When it isn't JSON, or has an invalid member.
pub fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    json::read(body)
}
