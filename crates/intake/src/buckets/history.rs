//! `GET …/history`: time series of a bucket.

mod shown;

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::HistoryWindow;
use serde::Deserialize;

use self::shown::ShownHistory;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, Params};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// `5m` (in slots of 5 s, the default), `1h` (1 min) or `24h` (15 min).
    #[param(pattern = "^(5m|1h|24h)$")]
    window: Option<String>,
}

/// Returns a time series of a bucket, oldest slot first: counts, level, rates and latencies.
///
/// Slots without events are omitted: the level is that of the previous slot, or of `before`. The last slot may be
/// incomplete. Latencies are exact to 5 %.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/history", tag = "buckets", params(parameters::Bucket, HistoryQuery),
    operation_id = "get_history",
    responses((status = 200, description = "The history", body = ShownHistory), responses::OfList)
)]
pub(crate) async fn history(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    ClientIp(address): ClientIp,
    Params(HistoryQuery { window }): Params<HistoryQuery>,
) -> Result<Json<ShownHistory>, Problem> {
    let window = pagination::parsed("window", window.as_deref())?.unwrap_or(HistoryWindow::FiveMinutes);
    let waiter = LimitedCaller::new(caller.id(), address);
    let history = intake.in_turn(waiter, &bucket, |bucket| async move { bucket.history(window).await }).await?;
    Ok(Json(ShownHistory::of(bucket.name(), history)))
}
