//! `GET /v1/services/{s}/history`: what a service's policies decided over time.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Read;
use dripfeed_job::duration::ms_up;
use dripfeed_limit::{PolicyId, VerdictHistory, VerdictSlot};
use serde::Serialize;
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::ServiceAccess;
use crate::request::pagination::{NoParams, Params};
use crate::request::time;

/// Returns the decisions of this intake about a service's requests in the last hour, by policy and minute.
///
/// Minutes without a decision are omitted, and the last one may be incomplete. Of each service the 20 policies that
/// decided first are included. What an intake decided before it was restarted is not.
#[utoipa::path(
    get, path = "/v1/services/{service}/history", tag = "services", params(parameters::Service),
    operation_id = "get_service_history",
    responses((status = 200, description = "The history", body = ShownServiceHistory), responses::OfService)
)]
pub(crate) async fn history(
    State(intake): State<Intake>,
    ServiceAccess { service, .. }: ServiceAccess<Read>,
    _: Params<NoParams>,
) -> Result<Json<ShownServiceHistory>, Problem> {
    let history = intake.services().history(&service)?.ok_or_else(Problem::unknown_service)?;
    Ok(Json(ShownServiceHistory::of(service.to_string(), history)))
}

#[derive(Serialize, ToSchema)]
#[schema(as = ServiceHistory)]
pub(crate) struct ShownServiceHistory {
    service: String,
    /// The length of a slot.
    slot_ms: u64,
    /// Start of the first slot of the hour.
    from: String,
    /// Now, by the clock of Redis.
    to: String,
    /// By policy, oldest slot first.
    policies: BTreeMap<String, Vec<ShownVerdicts>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ServiceHistorySlot)]
struct ShownVerdicts {
    /// Start of the slot.
    at: String,
    allowed: u64,
    refused: u64,
    /// Requests that a policy with `mode = "shadow"` would have refused.
    shadow_refused: u64,
    /// Requests allowed without a check, because Redis was unavailable.
    unchecked: u64,
}

impl ShownServiceHistory {
    fn of(service: String, history: VerdictHistory) -> Self {
        let shown = |(id, slots): (PolicyId, Vec<VerdictSlot>)| {
            (id.as_str().to_owned(), slots.into_iter().map(ShownVerdicts::from).collect())
        };
        Self {
            service,
            slot_ms: ms_up(VerdictHistory::SLOT),
            from: time::show(history.from_ms),
            to: time::show(history.to_ms),
            policies: history.policies.into_iter().map(shown).collect(),
        }
    }
}

impl From<VerdictSlot> for ShownVerdicts {
    fn from(VerdictSlot { at_ms, counts }: VerdictSlot) -> Self {
        Self {
            at: time::show(at_ms),
            allowed: counts.allowed,
            refused: counts.refused,
            shadow_refused: counts.shadow_refused,
            unchecked: counts.unchecked,
        }
    }
}
