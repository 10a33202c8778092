//! `GET …/schedules`, `GET …/schedules/{id}`: the schedules of a bucket and the state of their ticks.

use axum::extract::{OriginalUri, State};
use axum::response::Response;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::{Bucket, Page};
use serde::Deserialize;

use super::definition::Definition;
use super::owned;
use super::state::Schedule;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::{BucketAccess, ScheduleInPath};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, List, NoParams, Params};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchedulesQuery {
    limit: Option<String>,
    cursor: Option<String>,
}

/// Lists the schedules of a bucket, ordered by id.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/schedules", tag = "schedules",
    operation_id = "list_schedules",
    params(parameters::Bucket, parameters::Paging),
    responses(
        (status = 200, description = "A page of schedules", body = List<Schedule>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        responses::OfList,
    )
)]
pub(crate) async fn schedules(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    Params(query): Params<SchedulesQuery>,
    ClientIp(address): ClientIp,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let limit = pagination::limit(query.limit.as_deref())?;
    let after = pagination::cursor(query.cursor.as_deref())?;
    let waiter = LimitedCaller::new(caller.id(), address);
    let list = |bucket: Bucket| async move { bucket.schedules(after.as_ref(), limit).await };
    let page = intake.in_turn(waiter, &bucket, list).await?;
    let show = |(known, definition): (_, Option<_>)| Some(Schedule::of(&intake, &bucket, &caller, known, definition?));
    let shown = Definition::of_known(page.items).await?.into_iter().filter_map(show).collect();
    Ok(pagination::answer(&uri, Page { items: shown, next: page.next }, |shown: Schedule| shown))
}

/// Returns a schedule. The `ETag` is another one after each definition, pause and resume.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/schedules/{id}", tag = "schedules",
    operation_id = "get_schedule",
    params(parameters::Bucket, parameters::Schedule),
    responses(
        (status = 200, description = "The schedule", body = Schedule,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        responses::OfSchedule
    )
)]
pub(crate) async fn schedule(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    _: Params<NoParams>,
    ScheduleInPath(id): ScheduleInPath,
) -> Result<Response, Problem> {
    let (_, known, definition) = owned::find(&bucket, &id).await?;
    Ok(owned::answer(&intake, &bucket, &caller, known, definition))
}
