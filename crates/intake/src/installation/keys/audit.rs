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
use crate::request::pagination::{List, NoParams, Params};

/// Returns the audit log of keys created over the API: the latest hundred entries, newest first. A key sees the entries
/// about itself, what it did, and the entries about keys that have no more permissions. Of a revoked key those aren't
/// known any more: keys with every permission see the entries about it, too.
#[utoipa::path(
    get, path = "/v1/audit", tag = "installation",
    operation_id = "list_key_audit",
    responses((status = 200, description = "The audit log of keys", body = List<Audited>), responses::OfAll)
)]
pub(crate) async fn key_audit(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<ReadKeys>,
    _: Params<NoParams>,
) -> Result<Json<List<Audited>>, Problem> {
    let (registry, own) = change::registry(&intake, &caller)?;
    intake.keys().follow().await?;
    let (keys, sees_all) = (intake.keys().run_time_keys(), caller.may_do_everything());
    let may_see = |entry: &KeyAuditEntry| {
        sees_all || entry.by == own || entry.id == own || keys.get(&entry.id).is_some_and(|key| caller.covers(key))
    };
    let items = registry.audit_trail().await?.into_iter().filter(may_see).map(Audited::from).collect();
    Ok(Json(List { items, next: None }))
}
