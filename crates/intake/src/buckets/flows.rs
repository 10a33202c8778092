//! `GET …/flows`: whose turn it is in a bucket.

use axum::Json;
use dripfeed_auth::Read;
use dripfeed_bucket::{Flow, Flows};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::pagination::{self, Params};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FlowsQuery {
    /// The maximum number of callers.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
}

/// Returns the callers whose jobs wait in a bucket, in the order of their turns.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/flows", tag = "buckets", params(parameters::Bucket, FlowsQuery),
    responses((status = 200, description = "The callers", body = FlowSummary), responses::OfList)
)]
pub(crate) async fn flows(
    BucketAccess { bucket, .. }: BucketAccess<Read>,
    Params(query): Params<FlowsQuery>,
) -> Result<Json<FlowSummary>, Problem> {
    let limit = pagination::limit(query.limit.as_deref())?;
    Ok(Json(bucket.flows(limit).await?.into()))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Flows)]
pub(crate) struct FlowSummary {
    /// `caller`, or `off`: new jobs wait in one line, and aren't listed here.
    by: &'static str,
    items: Vec<FlowState>,
    /// All flows, also those of callers that had their turn and wait for nothing now.
    flows: u64,
}

/// What waits of one caller.
#[derive(Serialize, ToSchema)]
#[schema(as = Flow)]
struct FlowState {
    /// Null: jobs without a caller.
    #[schema(required)]
    caller: Option<String>,
    /// Jobs that wait for their turn; of more than 1000 runs of jobs, at least this many.
    waiting: u64,
    /// Calls while a caller of weight 1 gets one.
    weight: u16,
    /// From 1: the next one.
    place: u64,
}

impl From<Flows> for FlowSummary {
    fn from(flows: Flows) -> Self {
        let state = |(flow, place): (Flow, u64)| FlowState {
            caller: flow.caller,
            waiting: flow.waiting,
            weight: flow.weight,
            place,
        };
        Self { by: flows.by.as_str(), items: flows.items.into_iter().zip(1..).map(state).collect(), flows: flows.known }
    }
}
