//! `GET /v1/audit`: the audit log of keys.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{KeyAuditEntry, ReadKeys};

use super::change;
use crate::buckets::audit::Audited;
use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::Problem;
use crate::request::access::Allowed;
use crate::request::pagination::List;

/// Returns the audit log of keys created over the API: the latest hundred entries, newest first. A key that is
/// restricted to some buckets sees only the entries about itself.
#[utoipa::path(
    get, path = "/v1/audit", tag = "installation",
    responses((status = 200, description = "The audit log of keys", body = List<Audited>), responses::OfAll)
)]
pub(crate) async fn key_audit(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<ReadKeys>,
) -> Result<Json<List<Audited>>, Problem> {
    let (registry, own) = change::registry(&intake, &caller)?;
    let may_see = |entry: &KeyAuditEntry| caller.may_use_all_buckets() || entry.by == own;
    let items = registry.audit_trail().await?.into_iter().filter(may_see).map(Audited::from).collect();
    Ok(Json(List { items, next: None }))
}
