//! `GET …/flows`: the callers with waiting jobs, in the order of their turns.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::{Bucket, Flow, Flows, PriorityState};
use dripfeed_job::duration::ms_up;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, Params};
use crate::request::time;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FlowsQuery {
    /// The maximum number of items.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
}

/// Returns the callers, or groups, with waiting jobs, in the order of their turns.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/flows", tag = "buckets", params(parameters::Bucket, FlowsQuery),
    operation_id = "get_flows",
    responses((status = 200, description = "The callers", body = FlowSummary), responses::OfList)
)]
pub(crate) async fn flows(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    Params(query): Params<FlowsQuery>,
    ClientIp(address): ClientIp,
) -> Result<Json<FlowSummary>, Problem> {
    let limit = pagination::limit(query.limit.as_deref())?;
    let waiter = LimitedCaller::new(caller.id(), address);
    let flows = |bucket: Bucket| async move { bucket.flows(limit).await };
    let (_, flows) = intake.in_turn_in_current(waiter, bucket, flows).await;
    Ok(Json(flows?.into()))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Flows)]
pub(crate) struct FlowSummary {
    /// `caller` or `group`; or `off`: new jobs are in one queue and aren't listed here.
    by: &'static str,
    /// The priorities of waiting jobs, highest first.
    priorities: Vec<PriorityOfFlows>,
    items: Vec<FlowState>,
    /// The number of flows, including those without waiting jobs.
    flows: u64,
}

/// The waiting jobs of one priority. With very many callers, only the first ones are counted.
#[derive(Serialize, ToSchema)]
#[schema(as = FlowsOfPriority)]
struct PriorityOfFlows {
    /// `high`, `normal` or `low`.
    priority: &'static str,
    /// At least this many jobs.
    waiting: u64,
    /// The age of the oldest of these jobs. It keeps growing if there are always jobs of a higher priority.
    #[schema(required)]
    oldest_age_ms: Option<u64>,
}

/// The waiting jobs of one caller, or group, at one priority.
#[derive(Serialize, ToSchema)]
#[schema(as = Flow)]
struct FlowState {
    /// Null: jobs without a caller, or of a group.
    #[schema(required)]
    caller: Option<String>,
    /// Null: jobs of a caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// `high`, `normal` or `low`; higher priorities are called first.
    priority: &'static str,
    /// The number of waiting jobs; a lower bound, if they are more than 1000 runs of ids.
    waiting: u64,
    /// Weight: calls while a caller or group of weight 1 gets one.
    weight: u16,
    /// Calls in flight of this caller, or group, at all priorities; only with rate or concurrency limits per caller in
    /// `fair`.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_flight: Option<u64>,
    /// Whether it is paused in `fair.flows`: it isn't called.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    paused: bool,
    /// Until when it may not be called, though its turn may come: or until one of its calls ends, where as many are
    /// under way as may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    throttled_until: Option<String>,
    /// Position in the order of turns, from 1; throttled and paused ones are last.
    place: u64,
}

impl From<Flows> for FlowSummary {
    fn from(flows: Flows) -> Self {
        let state = |(flow, place): (Flow, u64)| FlowState {
            caller: flow.caller,
            group: flow.group,
            priority: flow.priority.as_str(),
            waiting: flow.waiting,
            weight: flow.weight,
            in_flight: flow.in_flight,
            paused: flow.is_paused,
            throttled_until: flow.throttled_until_ms.map(time::show),
            place,
        };
        Self {
            by: flows.by.as_str(),
            priorities: flows.priorities.into_iter().map(PriorityOfFlows::from).collect(),
            items: flows.items.into_iter().zip(1..).map(state).collect(),
            flows: flows.known,
        }
    }
}

impl From<PriorityState> for PriorityOfFlows {
    fn from(state: PriorityState) -> Self {
        Self { priority: state.priority.as_str(), waiting: state.waiting, oldest_age_ms: state.oldest_age.map(ms_up) }
    }
}
