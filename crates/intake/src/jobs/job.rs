//! `GET …/jobs/{id}`: the state of a job, or its outcome.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::{Bucket, JobView};
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::{BucketName, JobId, JobState, Outcome, Priority};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::jobs::failed_attempt::FailedJobAttempt;
use crate::jobs::payload::Payload;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::{BucketAccess, JobInPath, check_current};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, Params};
use crate::request::time;
use crate::request::visibility::Visibility;
use crate::submit::sync_wait::{SyncWait, wait_until_ended};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobQuery {
    /// `true`: also the payload of a job that hasn't ended.
    #[param(value_type = Option<bool>, default = false)]
    payload: Option<String>,
}

/// Returns the state of a job, or its outcome.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/jobs/{id}", tag = "jobs",
    operation_id = "get_job",
    params(parameters::Bucket, parameters::Job, JobQuery, parameters::Wait),
    responses(
        (status = 200, description = "The job", body = Job, headers(
            ("Preference-Applied" = String, description = "`wait=…`: the job has ended, or the time is over"),
        )),
        responses::OfJob,
    )
)]
pub(crate) async fn job(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    Params(query): Params<JobQuery>,
    JobInPath(id): JobInPath,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let wants_payload = pagination::parsed::<bool>("payload", query.payload.as_deref())?.unwrap_or(false);
    let visibility = Visibility::of(&caller);
    let reads_payload = wants_payload && visibility == Visibility::Payloads;
    let reader = LimitedCaller::new(caller.id(), address);
    let mut view = find(&intake, reader.clone(), &bucket, id, reads_payload).await?;
    let mut applied = None;
    if let Some(wait) = SyncWait::of(&headers).filter(|_| !matches!(view.state, JobState::Ended(_)))
        && wait_until_ended(&intake, &bucket, id, wait, reader.clone()).await
    {
        check_current(&caller, &intake)?;
        // It may have been removed, or created again under this name.
        let bucket = intake.find_bucket(bucket.name().as_str()).await?;
        view = find(&intake, reader, &bucket, id, reads_payload).await?;
        applied = Some(wait.applied());
    }
    let payload = wants_payload.then(|| view.payload.take().map(Payload::from));
    let mut response = Json(Job { payload, ..Job::of(bucket.name(), view, visibility) }).into_response();
    response.headers_mut().extend(applied);
    Ok(response)
}

async fn find(
    intake: &Intake,
    reader: LimitedCaller,
    bucket: &Bucket,
    id: JobId,
    reads_payload: bool,
) -> Result<JobView, Problem> {
    let find = |bucket: Bucket| async move {
        if reads_payload { bucket.find_with_payload(id).await } else { bucket.find(id).await }
    };
    let found = intake.in_turn(reader, bucket, find).await?;
    found.ok_or_else(Problem::unknown_job)
}

/// A job, without its payload unless that is asked for.
#[derive(Serialize, ToSchema)]
pub(crate) struct Job {
    #[schema(value_type = String, example = "1700000000000-0")]
    id: JobId,
    #[schema(value_type = String)]
    bucket: BucketName,
    /// `waiting`, `in_flight`, `parked`; or ended: `delivered`, `dead`, `expired`, `cancelled`.
    state: &'static str,
    /// Attempts started.
    attempts: u32,
    accepted_at: String,
    /// When the next attempt is due, while it is scheduled.
    #[schema(required)]
    due_at: Option<String>,
    /// The id of the key that submitted it.
    #[schema(required)]
    caller: Option<String>,
    /// `high`, `normal` or `low`, while it is in the bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<&'static str>,
    /// The group for fair queuing.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// The replica that claimed it, while in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer: Option<String>,
    /// Null until the job has ended.
    #[schema(required)]
    outcome: Option<JobOutcome>,
    /// The latest failed attempts, as far as they were stored. In a list of jobs only for ended jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_attempts: Vec<FailedJobAttempt>,
    /// While the job is in the bucket: the dead letter from which it was made, with another payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    replay_of: Option<JobId>,
    /// Only with `payload=true`. Null once the job has ended, and for keys without the scope `inspect`; a dead letter
    /// has its payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Payload>)]
    payload: Option<Option<Payload>>,
}

impl Job {
    pub(crate) fn of(bucket: &BucketName, view: JobView, visibility: Visibility) -> Self {
        Self {
            id: view.id,
            bucket: bucket.clone(),
            state: view.state.as_str(),
            attempts: view.attempts,
            accepted_at: time::show(view.id.accepted_ms()),
            due_at: view.due_ms.map(time::show),
            caller: view.caller,
            priority: view.priority.map(Priority::as_str),
            group: view.group,
            consumer: view.consumer,
            outcome: view.outcome.map(|(outcome, settled_ms)| JobOutcome::of(outcome, settled_ms, visibility)),
            replay_of: view.replay_of,
            payload: None,
            failed_attempts: view.failed.into_iter().map(|failed| FailedJobAttempt::of(failed, visibility)).collect(),
        }
    }
}

/// How a job ended.
#[derive(Serialize, ToSchema)]
#[schema(as = Outcome)]
pub(crate) struct JobOutcome {
    /// `delivered`, `dead`, `expired` or `cancelled`.
    result: &'static str,
    #[schema(required)]
    reason: Option<String>,
    /// The upstream's last status.
    #[schema(required)]
    status: Option<u16>,
    attempts: u32,
    settled_at: String,
    /// The upstream's last response, as far as it was stored; null for keys without the scope `inspect`.
    #[schema(required)]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// In which `body` is compressed, as the upstream sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_encoding: Option<String>,
    /// `body` is base64, because it isn't UTF-8.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    base64: bool,
    /// Whether the stored response is cut.
    truncated: bool,
}

impl JobOutcome {
    pub(crate) fn of(outcome: Outcome, settled_ms: u64, visibility: Visibility) -> Self {
        let (body, answer) = match outcome.answer.filter(|_| visibility == Visibility::Payloads) {
            Some(mut answer) => (Some(std::mem::take(&mut answer.body)), answer),
            None => (None, AnswerBody::default()),
        };
        Self {
            result: outcome.result.as_str(),
            reason: outcome.reason,
            status: outcome.status,
            attempts: outcome.attempts,
            settled_at: time::show(settled_ms),
            body,
            content_type: answer.content_type,
            content_encoding: answer.content_encoding,
            base64: answer.base64,
            truncated: answer.truncated,
        }
    }
}
