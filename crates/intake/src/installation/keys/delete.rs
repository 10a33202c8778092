//! `DELETE /v1/keys/{id}`: revokes a key.

use axum::extract::State;
use dripfeed_auth::{ChangeKeys, DeleteKeyResult};
use http::{HeaderMap, StatusCode};

use super::change::{self, TRIES};
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::{Allowed, KeyInPath};
use crate::request::body::NoBody;
use crate::request::pagination::{NoParams, Params};
use crate::request::preconditions::Preconditions;

/// Revokes a key created over the API, at this intake at once and at all intakes within a second, including event
/// streams and dashboard sessions. Jobs that it submitted and keys that it created stay.
#[utoipa::path(
    delete, path = "/v1/keys/{id}", tag = "installation", params(parameters::Key, parameters::IfMatch),
    responses((status = 204, description = "Revoked"), responses::OfKeyDeletion)
)]
pub(crate) async fn delete_key(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<ChangeKeys>,
    _: Params<NoParams>,
    KeyInPath(id): KeyInPath,
    headers: HeaderMap,
    _: NoBody,
) -> Result<StatusCode, Problem> {
    let (registry, by) = change::registry(&intake, &caller)?;
    change::check_configured(&intake, &id)?;
    let preconditions = Preconditions::of(&headers)?;
    for _ in 0..TRIES {
        let known = change::find(&intake, &caller, &id).await?.ok_or_else(Problem::unknown_key)?;
        preconditions.check("key", Some(known.version))?;
        match registry.delete(&known, by).await? {
            DeleteKeyResult::Done => {
                tracing::info!(id, key = by, action = "delete", "audit");
                intake.keys().follow_or_log().await;
                return Ok(StatusCode::NO_CONTENT);
            }
            DeleteKeyResult::Gone => return Err(Problem::unknown_key()),
            DeleteKeyResult::Changed => {}
        }
    }
    Err(change::contended())
}
