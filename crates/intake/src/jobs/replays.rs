//! `POST …/dead/replays`, `GET …/dead/replays`, `GET …/dead/replays/{id}`, `DELETE …/dead/replays/{id}`: background
//! replays of dead letters.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dripfeed_auth::{Operate, Read};
use dripfeed_bucket::{Bucket, BucketError, CancelReplayResult, ReplayId, ReplayTask};
use dripfeed_job::{BucketName, LastStatus, Rate, pluralize};
use http::{StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::buckets::audit;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::intake::Intake;
use crate::jobs::dead_filter::described;
use crate::jobs::replay::{self, ReplayRequest};
use crate::openapi::{formats, parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::{BucketAccess, ReplayInPath};
use crate::request::body::{NoBody, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{List, NoParams, Params};
use crate::request::time;

/// Maximum length of a text in the filter, in bytes: it is stored with the replay.
const MAX_TEXT: usize = 1024;

/// Starts a background replay of all dead letters that match the filter now. It submits them at the given rate, and
/// waits while the bucket is full. Jobs that are dead-lettered again aren't replayed again. The latest ten replays of a
/// bucket are kept.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/dead/replays", tag = "dead letters", params(parameters::Bucket),
    operation_id = "start_replay",
    request_body(content = Option<ReplayRequest>, description = "The filter; omitted or null: all letters"),
    responses(
        (status = 202, description = "Started", body = Replay,
            headers(("Location" = String, description = "The replay"))),
        responses::OfReplayStart,
    )
)]
pub(crate) async fn start(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    body: Body,
) -> Result<Response, Problem> {
    let (filter, rate) = replay::read(Sender { caller: &caller, address }, body, &intake).await?;
    for (name, text) in [("reason", &filter.reason), ("caller", &filter.caller)] {
        if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT) {
            return Err(Problem::bad_member(name, &format!("use at most {MAX_TEXT} bytes")));
        }
    }
    let many = || Problem::new(Code::ManyReplays, "wait until one of them has ended, or cancel one");
    let (what, key) = (described(&filter, rate), caller.id());
    let start = |bucket: Bucket| {
        let filter = filter.clone();
        async move { bucket.start_replay(filter, rate, key).await }
    };
    let (bucket, started) = intake.in_current(bucket, start).await;
    let id = record_unconfirmed(&bucket, &caller, "replay", &what, started).await?.ok_or_else(many)?;
    // If this fails, the search for abandoned replays starts the replay later.
    let count = intake.metrics().counts_accepted(bucket.name());
    if let Err(error) = bucket.resume_replays(intake.buckets(), count).await {
        tracing::debug!(bucket = %bucket.name(), error = &error as &dyn std::error::Error, "could not begin a \
            background replay; retrying");
    }
    let started = find(&bucket, id).await;
    let letters = started.as_ref().map_or("dead letters".to_owned(), |of| pluralize(of.total, "dead letter"));
    audit::record(&bucket, &caller, "replay", &format!("{letters}, as {id}: {what}")).await;
    let location = format!("/v1/buckets/{}/dead/replays/{id}", bucket.name());
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(started?)).into_response())
}

/// Lists the background replays of a bucket: the latest ten, newest first.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/dead/replays", tag = "dead letters", params(parameters::Bucket),
    operation_id = "list_replays",
    responses((status = 200, description = "The replays", body = List<Replay>), responses::OfBucket)
)]
pub(crate) async fn replays(
    BucketAccess { bucket, .. }: BucketAccess<Read>,
    _: Params<NoParams>,
) -> Result<Json<List<Replay>>, Problem> {
    Ok(Json(List { items: all(&bucket).await?, next: None }))
}

/// Returns a background replay and its progress.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/dead/replays/{id}", tag = "dead letters",
    operation_id = "get_replay",
    params(parameters::Bucket, parameters::Replay),
    responses((status = 200, description = "The replay", body = Replay), responses::OfReplayRead)
)]
pub(crate) async fn replay(
    BucketAccess { bucket, .. }: BucketAccess<Read>,
    _: Params<NoParams>,
    ReplayInPath(id): ReplayInPath,
) -> Result<Json<Replay>, Problem> {
    find(&bucket, id).await.map(Json)
}

/// Cancels a background replay. Letters that it hasn't replayed yet stay. A replay that has ended doesn't change.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}/dead/replays/{id}", tag = "dead letters",
    operation_id = "cancel_replay",
    params(parameters::Bucket, parameters::Replay),
    responses((status = 204, description = "Cancelled, or ended before"), responses::OfReplayCancel)
)]
pub(crate) async fn cancel(
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ReplayInPath(id): ReplayInPath,
    _: NoBody,
) -> Result<StatusCode, Problem> {
    let (cancelled, detail) = (bucket.cancel_replay(id).await, format!("the replay {id}"));
    match record_unconfirmed(&bucket, &caller, "cancel", &detail, cancelled).await? {
        CancelReplayResult::Now => audit::record(&bucket, &caller, "cancel", &detail).await,
        CancelReplayResult::EndedBefore => {}
        CancelReplayResult::Unknown => return Err(Problem::unknown_replay()),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A background replay of dead letters.
#[derive(Serialize, ToSchema)]
pub(crate) struct Replay {
    #[schema(value_type = String, pattern = "^[0-9a-f]{16}$")]
    id: String,
    #[schema(value_type = String)]
    bucket: BucketName,
    /// `running`, `done` or `cancelled`.
    state: &'static str,
    /// The rate of the replay; null: as fast as the bucket has room.
    #[schema(value_type = Option<formats::Rate>, inline, required)]
    rate: Option<Rate>,
    /// The filter; null members match all letters.
    filter: ReplayFilter,
    /// Letters that matched when it was started.
    total: u64,
    /// Letters that were submitted as new jobs.
    done: u64,
    /// Letters that stay, because their callers have reached their share of the bucket, or because they are larger than
    /// its `capacity_bytes`.
    failed: u64,
    /// Letters that were replayed or deleted otherwise before this replay came to them. Known once it is done: then
    /// `done`, `failed` and `gone` are `total`.
    gone: u64,
    started_at: String,
    #[schema(required)]
    ended_at: Option<String>,
    /// The id of the key that started it. Null: no keys were configured.
    #[schema(required)]
    key: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct ReplayFilter {
    #[schema(required)]
    reason: Option<String>,
    exact_reason: bool,
    #[schema(value_type = Option<formats::LastStatus>, inline, required)]
    status: Option<LastStatus>,
    #[schema(required)]
    caller: Option<String>,
    #[schema(required)]
    since: Option<String>,
    #[schema(required)]
    until: Option<String>,
}

impl Replay {
    fn of(bucket: &BucketName, task: ReplayTask) -> Self {
        let gone = task.gone();
        let filter = task.filter;
        Self {
            id: task.id.to_string(),
            bucket: bucket.clone(),
            state: task.state.as_str(),
            rate: task.rate,
            filter: ReplayFilter {
                reason: filter.reason,
                exact_reason: filter.exact_reason,
                status: filter.status,
                caller: filter.caller,
                since: filter.died_since_ms.map(time::show),
                until: filter.died_until_ms.map(time::show),
            },
            total: task.total,
            done: task.done,
            failed: task.left,
            gone,
            started_at: time::show(task.started_ms),
            ended_at: task.ended_ms.map(time::show),
            key: task.key,
        }
    }
}

async fn all(bucket: &Bucket) -> Result<Vec<Replay>, BucketError> {
    let tasks = bucket.replays().await?;
    Ok(tasks.into_iter().map(|task| Replay::of(bucket.name(), task)).collect())
}

async fn find(bucket: &Bucket, id: ReplayId) -> Result<Replay, Problem> {
    let wanted = id.to_string();
    all(bucket).await?.into_iter().find(|replay| replay.id == wanted).ok_or_else(Problem::unknown_replay)
}
