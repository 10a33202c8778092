//! `GET /v1/services/audit`: the audit log of the rules of services.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Read;
use dripfeed_limit::{RulesAuditEntry, ServiceName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::Problem;
use crate::request::access::Allowed;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, List, Params};
use crate::request::time;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RulesAuditQuery {
    /// Only changes of this service.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    service: Option<String>,
    /// The maximum number of entries.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
}

/// A change of a service's rules.
#[derive(Serialize, ToSchema)]
#[schema(as = ServiceAuditEntry)]
pub(crate) struct AuditedRules {
    at: String,
    /// The id of the key. Null: no keys were configured.
    #[schema(required)]
    key: Option<String>,
    /// `create`, `change` or `delete`.
    action: String,
    service: String,
    /// From what to what, such as `policies.each.tiers.0.limit: 1 → 2`.
    #[schema(example = "policies.each.tiers.0.limit: 1 → 2")]
    detail: String,
}

/// Returns the audit log of the rules of the services that the caller may access, newest first. The latest thousand
/// entries of all services are kept.
#[utoipa::path(
    get, path = "/v1/services/audit", tag = "services", params(RulesAuditQuery),
    operation_id = "list_rules_audit",
    responses((status = 200, description = "The audit log", body = List<AuditedRules>), responses::OfAll)
)]
pub(crate) async fn rules_audit(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<Read>,
    Params(query): Params<RulesAuditQuery>,
    ClientIp(address): ClientIp,
) -> Result<Json<List<AuditedRules>>, Problem> {
    let service: Option<ServiceName> = pagination::parsed("service", query.service.as_deref())?;
    let limit = pagination::limit(query.limit.as_deref())?;
    let _turn = intake.lookup_turn(&caller, address).await;
    let is_wanted = |entry: &RulesAuditEntry| {
        caller.may_use_service(&entry.service) && service.as_ref().is_none_or(|name| name.as_str() == entry.service)
    };
    let entries = intake.services().audit_trail().await?.into_iter().filter(is_wanted).take(limit);
    Ok(Json(List { items: entries.map(AuditedRules::from).collect(), next: None }))
}

impl From<RulesAuditEntry> for AuditedRules {
    fn from(RulesAuditEntry { at_ms, by, action, service, detail }: RulesAuditEntry) -> Self {
        Self { at: time::show(at_ms), key: by, action, service, detail }
    }
}
