//! `GET …/dead`, `GET …/dead/{id}`, `DELETE …/dead/{id}`: dead letters.

use axum::Json;
use axum::extract::{OriginalUri, State};
use axum::response::Response;
use dripfeed_auth::{LimitedCaller, Operate, Read};
use dripfeed_bucket::{Cursor, DeadFilter, DeadLetter};
use dripfeed_job::{BucketName, JobId};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::buckets::audit;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::intake::Intake;
use crate::jobs::dead_filter::empty_text;
use crate::jobs::job::JobOutcome;
use crate::jobs::payload::{self, Header};
use crate::openapi::{formats, parameters, responses};
use crate::problem::Problem;
use crate::request::access::{BucketAccess, JobInPath};
use crate::request::body::NoBody;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, List, NoParams, Params};
use crate::request::time;
use crate::request::visibility::Visibility;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeadLettersQuery {
    /// Only reasons that contain this text.
    reason: Option<String>,
    /// `true`: only reasons equal to this text.
    #[param(value_type = Option<bool>)]
    exact_reason: Option<String>,
    /// Only letters with this last upstream status; `none`: no answer came.
    #[param(value_type = Option<formats::LastStatus>, inline, required = false)]
    status: Option<String>,
    /// Only jobs of this caller.
    caller: Option<String>,
    /// Only jobs dead-lettered at or after this time (RFC 3339).
    #[param(format = DateTime)]
    since: Option<String>,
    /// Only jobs dead-lettered at or before this time (RFC 3339).
    #[param(format = DateTime)]
    until: Option<String>,
    #[param(ignore)]
    redacted: Option<String>,
    #[param(ignore)]
    limit: Option<String>,
    #[param(ignore)]
    cursor: Option<String>,
}

impl DeadLettersQuery {
    pub(super) fn filter(&self) -> Result<DeadFilter, Problem> {
        let filter = DeadFilter {
            reason: self.reason.clone(),
            exact_reason: pagination::parsed("exact_reason", self.exact_reason.as_deref())?.unwrap_or(false),
            status: pagination::parsed("status", self.status.as_deref())?,
            caller: self.caller.clone(),
            died_since_ms: pagination::time_ms("since", self.since.as_deref())?,
            died_until_ms: pagination::time_ms("until", self.until.as_deref())?,
        };
        empty_text(&filter).map_or(Ok(filter), |(name, why)| Err(pagination::bad(name, why)))
    }

    /// Returns the filter, the cursor and the maximum number of groups for a request of groups.
    pub(super) fn filter_of_groups(&self) -> Result<(DeadFilter, Option<Cursor>, usize), Problem> {
        if self.redacted.is_some() {
            return Err(pagination::bad("redacted", "not supported here: groups have no payload"));
        }
        Ok((self.filter()?, pagination::cursor(self.cursor.as_deref())?, pagination::limit(self.limit.as_deref())?))
    }

    /// Returns the filter of letters to delete. `limit`, `cursor` and `redacted` are refused, and so is an empty
    /// filter.
    pub(super) fn filter_of_deletion(&self) -> Result<DeadFilter, Problem> {
        for (name, given) in [("limit", &self.limit), ("cursor", &self.cursor), ("redacted", &self.redacted)] {
            if given.is_some() {
                return Err(pagination::bad(name, "not supported here: all matching letters are deleted"));
            }
        }
        let filter = self.filter()?;
        if filter == DeadFilter::default() {
            return Err(pagination::bad("reason", "give at least one of reason, status, caller, since and until"));
        }
        Ok(filter)
    }
}

/// Lists dead letters.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/dead", tag = "dead letters",
    operation_id = "list_dead_letters",
    params(parameters::Bucket, DeadLettersQuery, parameters::Paging, parameters::Redacted),
    responses(
        (status = 200, description = "A page of dead letters", body = List<Letter>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        responses::OfList,
    )
)]
pub(crate) async fn dead_letters(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    ClientIp(address): ClientIp,
    Params(query): Params<DeadLettersQuery>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let filter = query.filter()?;
    let limit = pagination::limit(query.limit.as_deref())?;
    let mask = pagination::mask(&intake, query.redacted.as_deref())?;
    let after = pagination::cursor(query.cursor.as_deref())?;
    let waiter = LimitedCaller::new(caller.id(), address);
    let page = intake
        .in_turn(waiter, &bucket, |bucket| async move { bucket.dead_letters(&filter, after.as_ref(), limit).await })
        .await?;
    Ok(pagination::masked_answer(&uri, page, mask, |letter| Letter::of(bucket.name(), letter, Visibility::of(&caller))))
}

/// Returns a dead letter.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/dead/{id}", tag = "dead letters",
    operation_id = "get_dead_letter",
    params(parameters::Bucket, parameters::Job),
    responses((status = 200, description = "The dead letter", body = Letter), responses::OfJob)
)]
pub(crate) async fn dead_letter(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    _: Params<NoParams>,
    JobInPath(id): JobInPath,
    ClientIp(address): ClientIp,
) -> Result<Json<Letter>, Problem> {
    let waiter = LimitedCaller::new(caller.id(), address);
    let letter = intake
        .in_turn(waiter, &bucket, |bucket| async move { bucket.dead_letter(id).await })
        .await?
        .ok_or_else(Problem::unknown_dead_letter)?;
    Ok(Json(Letter::of(bucket.name(), letter, Visibility::of(&caller))))
}

/// Deletes a dead letter permanently.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}/dead/{id}", tag = "dead letters",
    operation_id = "delete_dead_letter",
    params(parameters::Bucket, parameters::Job),
    responses((status = 204, description = "Deleted"), responses::OfDeletion)
)]
pub(crate) async fn delete(
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    JobInPath(id): JobInPath,
    _: NoBody,
) -> Result<StatusCode, Problem> {
    let (deleted, detail) = (bucket.delete_dead(id).await, id.to_string());
    let deleted = record_unconfirmed(&bucket, &caller, "delete", &detail, deleted).await?;
    if deleted {
        audit::record(&bucket, &caller, "delete", &detail).await;
    }
    deleted.then_some(StatusCode::NO_CONTENT).ok_or_else(Problem::unknown_dead_letter)
}

/// A dead-lettered job with its payload and outcome.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub(crate) struct Letter {
    #[schema(value_type = String, example = "1700000000000-0")]
    id: JobId,
    #[schema(value_type = String)]
    bucket: BucketName,
    accepted_at: String,
    died_at: String,
    #[schema(required)]
    caller: Option<String>,
    #[schema(required)]
    content_type: Option<String>,
    /// The payload, if it is UTF-8; null for keys without the scope `inspect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    body: Option<Option<String>>,
    /// The payload, if it isn't UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    /// Null for keys without the scope `inspect`, as path and headers are; null also if it is the bucket's method.
    #[schema(required)]
    method: Option<String>,
    #[schema(required)]
    path: Option<String>,
    /// The headers forwarded to the upstream.
    #[schema(required)]
    headers: Option<Vec<Header>>,
    /// The dead letter from which this job was made, with another payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    replay_of: Option<JobId>,
    outcome: JobOutcome,
}

impl Letter {
    fn of(bucket: &BucketName, letter: DeadLetter, visibility: Visibility) -> Self {
        let is_seen = visibility == Visibility::Payloads;
        let (body, body_base64) = match visibility {
            Visibility::Numbers => (Some(None), None),
            Visibility::Payloads => {
                let (text, base64) = payload::text_or_base64(&letter.body);
                (text.map(Some), base64)
            }
        };
        Self {
            id: letter.id,
            bucket: bucket.clone(),
            accepted_at: time::show(letter.id.accepted_ms()),
            died_at: time::show(letter.died_ms),
            caller: letter.caller,
            content_type: letter.content_type,
            body,
            body_base64,
            method: letter.method.filter(|_| is_seen),
            path: letter.path.filter(|_| is_seen),
            replay_of: letter.replay_of,
            headers: is_seen.then(|| payload::headers(letter.headers)),
            outcome: JobOutcome::of(letter.outcome, letter.died_ms, visibility),
        }
    }
}
