//! `POST …/dead/{id}/replay`, `POST …/dead/replay`: submits dead letters as new jobs, within capacity and rate.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use dripfeed_auth::{LimitedCaller, Operate, Scope};
use dripfeed_bucket::{
    Admission, AdmissionDecision, Admitted, Bucket, BucketError, DeadFilter, ReplayCounts, ReplayResult,
};
use dripfeed_job::{LastStatus, Rate};
use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::buckets::audit;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::intake::Intake;
use crate::jobs::dead_filter::{described, empty_text};
use crate::openapi::{formats, parameters, responses};
use crate::problem::Problem;
use crate::request::access::{BucketAccess, JobInPath, lacks};
use crate::request::body::{self, NoBody, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{NoParams, Params};
use crate::request::{json, time};
use crate::submit::admit::into_result;
use crate::submit::options;
use crate::submit::receipt::{self, Receipt};

/// Submits a dead letter as a new job.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/dead/{id}/replay", tag = "dead letters",
    operation_id = "replay_dead_letter",
    params(parameters::Bucket, parameters::Job),
    responses(
        (status = 202, description = "Accepted as a new job", body = Receipt,
            headers(("Location" = String, description = "The new job"))),
        responses::OfReplay,
    )
)]
pub(crate) async fn replay(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    JobInPath(id): JobInPath,
    ClientIp(address): ClientIp,
    _: NoBody,
) -> Result<Response, Problem> {
    let replay = |bucket: Bucket| async move { bucket.replay(id).await };
    let (bucket, replayed) = intake.in_turn_in_current(LimitedCaller::new(caller.id(), address), bucket, replay).await;
    let replayed = record_unconfirmed(&bucket, &caller, "replay", &id.to_string(), replayed).await?;
    let admitted = admitted(&intake, &bucket, replayed)?;
    audit::record(&bucket, &caller, "replay", &id.to_string()).await;
    Ok(receipt::response(intake.settings(), &bucket, &admitted))
}

/// Submits a dead letter as a new job with another payload, which has the `Content-Encoding` of this request, or none.
/// `replay_of` of the new job is the dead letter; everything else is kept.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/dead/{id}/edit", tag = "dead letters",
    operation_id = "edit_dead_letter",
    params(parameters::Bucket, parameters::Job),
    request_body(
        content((body::Any = "application/json"), (body::Any = "*/*")),
        description = "The new payload; without a content type, that of the old payload is kept"
    ),
    responses(
        (status = 202, description = "Accepted as a new job", body = Receipt,
            headers(("Location" = String, description = "The new job"))),
        responses::OfEdit,
    )
)]
pub(crate) async fn edit(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    JobInPath(id): JobInPath,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    if !caller.may(Scope::Submit) {
        return Err(lacks(Scope::Submit));
    }
    options::refuse_options(&headers, "a replayed job keeps its options")?;
    let content_type = options::payload_header(&headers, &header::CONTENT_TYPE)?;
    let encoding = options::payload_header(&headers, &header::CONTENT_ENCODING)?;
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    let edit = |bucket: Bucket| {
        let (body, content_type, encoding) = (body.clone(), content_type.clone(), encoding.clone());
        async move { bucket.replay_edited(id, body, content_type, encoding.as_deref()).await }
    };
    let (bucket, replayed) = intake.in_turn_in_current(LimitedCaller::new(caller.id(), address), bucket, edit).await;
    let replayed = record_unconfirmed(&bucket, &caller, "edit", &id.to_string(), replayed).await?;
    let admitted = admitted(&intake, &bucket, replayed)?;
    audit::record(&bucket, &caller, "edit", &format!("{id} as {}", admitted.id)).await;
    Ok(receipt::response(intake.settings(), &bucket, &admitted))
}

fn admitted(intake: &Intake, bucket: &Bucket, replayed: ReplayResult) -> Result<Admitted, Problem> {
    let admission = match replayed {
        ReplayResult::As(admitted) => Admission::Admitted(admitted),
        ReplayResult::Refused(refused) => Admission::Refused(refused),
        ReplayResult::Unknown => return Err(Problem::unknown_dead_letter()),
    };
    into_result(intake, bucket.name(), Ok(AdmissionDecision { admission, limits: None, caller_share: None }))
}

/// Submits all dead letters that match the filter as new jobs, as far as the bucket has room.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/dead/replay", tag = "dead letters", params(parameters::Bucket),
    operation_id = "replay_dead_letters",
    request_body(content = Option<ReplayRequest>, description = "The filter; omitted or null: all letters"),
    responses((status = 200, description = "Done", body = ReplaySummary), responses::OfChange)
)]
pub(crate) async fn replay_many(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    body: Body,
) -> Result<Json<ReplaySummary>, Problem> {
    let (filter, rate) = read(Sender { caller: &caller, address }, body, &intake).await?;
    let filter = &filter;
    let replay_many = |bucket: Bucket| async move { bucket.replay_many(filter, rate).await };
    let (bucket, replayed) = intake.in_current(bucket, replay_many).await;
    let which = described(filter, rate);
    let count = |done: &ReplayCounts| done.replayed;
    audit::record_parts(&bucket, &caller, "replay", &replayed, count, "dead letter", Some(&which)).await;
    intake.metrics().accepted(bucket.name(), replayed.as_ref().map_or_else(BucketError::done, count));
    Ok(Json(replayed?.into()))
}

/// Which letters, and how fast.
pub(super) async fn read(
    sender: Sender<'_>,
    body: Body,
    intake: &Intake,
) -> Result<(DeadFilter, Option<Rate>), Problem> {
    let body = body::read(sender, body, intake).await?;
    let read = |body: &Bytes| {
        let all = body.is_empty() || body.trim_ascii() == b"null";
        if all { Ok(ReplayRequest::default()) } else { json::read(body) }
    };
    let request = body::parse(body, read).await?;
    let (rate, filter) = (request.rate, DeadFilter::from(request));
    match empty_text(&filter) {
        Some((member, why)) => Err(Problem::bad_member(member, why)),
        None => Ok((filter, rate)),
    }
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Which)]
pub(crate) struct ReplayRequest {
    /// Only reasons that contain this text.
    reason: Option<String>,
    /// Only reasons equal to this text.
    #[serde(default)]
    exact_reason: bool,
    /// Only letters with this last upstream status; `none`: no answer came.
    #[schema(value_type = Option<formats::LastStatus>, inline)]
    status: Option<LastStatus>,
    /// Only jobs of this caller.
    caller: Option<String>,
    /// Only jobs dead-lettered at or after this time (RFC 3339).
    #[serde(default, deserialize_with = "time::deserialize")]
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<u64>,
    /// Only jobs dead-lettered at or before this time (RFC 3339).
    #[serde(default, deserialize_with = "time::deserialize")]
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<u64>,
    /// The rate of the replay, such as `10/s`; by default the bucket's rate.
    #[schema(value_type = Option<formats::Rate>, inline)]
    rate: Option<Rate>,
}

impl From<ReplayRequest> for DeadFilter {
    fn from(request: ReplayRequest) -> Self {
        Self {
            reason: request.reason,
            exact_reason: request.exact_reason,
            status: request.status,
            caller: request.caller,
            died_since_ms: request.since,
            died_until_ms: request.until,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = Replayed)]
pub(crate) struct ReplaySummary {
    replayed: u64,
    /// Matching dead letters that were not replayed: the bucket, or the share of their caller, is full, or they are
    /// larger than its `capacity_bytes`.
    left: u64,
}

impl From<ReplayCounts> for ReplaySummary {
    fn from(replayed: ReplayCounts) -> Self {
        Self { replayed: replayed.replayed, left: replayed.left }
    }
}
