//! `GET /v1/services`: the services with rules, and the decisions of this intake.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Read;
use dripfeed_limit::VerdictCounts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::Problem;
use crate::request::access::Allowed;
use crate::request::pagination::{List, NoParams, Params};

#[derive(Serialize, ToSchema)]
#[schema(as = Service)]
pub(crate) struct ListedService {
    name: String,
    /// Decisions of this intake by policy, since it started or the service was registered.
    verdicts: BTreeMap<String, Verdicts>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VerdictCounts)]
struct Verdicts {
    allowed: u64,
    refused: u64,
    /// Requests that a policy with `mode = "shadow"` would have refused.
    shadow_refused: u64,
    /// Requests allowed without a check, because Redis was unavailable.
    unchecked: u64,
}

/// Lists the services that the caller may access.
#[utoipa::path(
    get, path = "/v1/services", tag = "services",
    operation_id = "list_services",
    responses((status = 200, description = "All services", body = List<ListedService>), responses::OfAll)
)]
pub(crate) async fn services(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<Read>,
    _: Params<NoParams>,
) -> Result<Json<List<ListedService>>, Problem> {
    let tally = intake.services().tally().into_iter().filter(|(name, _)| caller.may_use_service(name.as_str()));
    let mut items: Vec<ListedService> = tally
        .map(|(name, verdicts)| ListedService {
            name: name.to_string(),
            verdicts: verdicts.into_iter().map(|(id, counts)| (id.as_str().to_owned(), counts.into())).collect(),
        })
        .collect();
    items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(List { items, next: None }))
}

impl From<VerdictCounts> for Verdicts {
    fn from(counts: VerdictCounts) -> Self {
        let VerdictCounts { allowed, refused, shadow_refused, unchecked } = counts;
        Self { allowed, refused, shadow_refused, unchecked }
    }
}
