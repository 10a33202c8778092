//! `GET /v1/scale`: the number of processors for the current work, for autoscaling.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Read;
use dripfeed_bucket::Slots;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::Problem;
use crate::request::access::{Allowed, BucketAccess};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::Params;

/// The name for all buckets that the key may read.
const ALL: &str = "*";

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScaleQuery {
    /// The name of a bucket, or `*` for all that the key may read.
    bucket: String,
}

/// Returns the number of concurrent calls that a bucket can use now, and the number of processors for them, for
/// autoscaling. It counts jobs that are waiting, in flight, or due within 30 seconds, up to what the rate and
/// `leak.max_in_flight` allow. While a bucket is paused, or can make no call within that time, only jobs in flight
/// count.
#[utoipa::path(
    get, path = "/v1/scale", tag = "buckets", params(ScaleQuery),
    operation_id = "get_scale",
    responses((status = 200, description = "The calls and processors", body = Scale), responses::OfList)
)]
pub(crate) async fn scale(
    State(intake): State<Intake>,
    allowed: Allowed<Read>,
    Params(query): Params<ScaleQuery>,
    ClientIp(address): ClientIp,
) -> Result<Json<Scale>, Problem> {
    if query.bucket != ALL {
        let BucketAccess { bucket, .. } = BucketAccess::to(&query.bucket, allowed, &intake).await?;
        let (_, slots) = intake.in_current(bucket, async |bucket| bucket.slots().await).await;
        return Ok(Json(slots?.into()));
    }
    let turn = intake.lookup_turn(&allowed.caller, address).await;
    let theirs = intake.buckets().among(|name| allowed.caller.may_use(name));
    Ok(Json(turn.run(Slots::max_of(theirs)).await??.into()))
}

/// The demand for calls and processors.
#[derive(Serialize, ToSchema)]
pub(crate) struct Scale {
    /// Concurrent calls. For all buckets: the maximum of one, because each processor serves all buckets in parallel.
    slots: u64,
    /// Processors for these calls, by `leak.concurrency`.
    replicas: u64,
}

impl From<Slots> for Scale {
    fn from(slots: Slots) -> Self {
        Self { slots: slots.calls, replicas: slots.replicas }
    }
}
