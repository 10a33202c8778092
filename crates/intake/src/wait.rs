//! Waits for an admitted job's outcome, and hands the upstream's answer through.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use dripfeed_bucket::{Admitted, Bucket, EndedJob};
use dripfeed_job::{Ending, JobId};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::intake::Intake;
use crate::prefer::Wait;
use crate::rate_limit::Room;
use crate::receipt;

const JOB_ID: HeaderName = HeaderName::from_static("dripfeed-job-id");
const UPSTREAM_STATUS: HeaderName = HeaderName::from_static("dripfeed-upstream-status");
/// The bucket kept only the beginning of the upstream's answer.
const TRUNCATED: HeaderName = HeaderName::from_static("dripfeed-truncated");

/// 200 with the upstream's answer when the job was delivered in time, else the 202 it would have got at once.
pub(crate) async fn answer(intake: &Intake, bucket: &Bucket, admitted: &Admitted, wait: Wait) -> Response {
    let ended = tokio::select! {
        ended = outcome(bucket, admitted.id, wait) => ended,
        () = intake.health().draining().cancelled() => None,
    };
    let mut response = match ended.filter(|ended| ended.outcome.result == Ending::Delivered) {
        Some(delivered) => {
            let fields: HeaderMap = Room::from(admitted).fields(intake.settings()).into_iter().collect();
            (fields, receipt::location(bucket.name(), admitted.id), upstreams_answer(delivered)).into_response()
        }
        None => receipt::answer(intake.settings(), bucket, admitted),
    };
    response.headers_mut().extend([wait.applied()]);
    response
}

/// The job is admitted whatever happens here: not to learn how it ended is no error.
async fn outcome(bucket: &Bucket, id: JobId, wait: Wait) -> Option<EndedJob> {
    bucket.await_outcome(id, wait.duration()).await.unwrap_or_else(|error| {
        tracing::debug!(%error, job = %id, "can't wait for the outcome");
        None
    })
}

fn upstreams_answer(delivered: EndedJob) -> Response {
    let mut headers = HeaderMap::new();
    headers.extend(HeaderValue::try_from(delivered.id.to_string()).map(|id| (JOB_ID, id)));
    headers.extend(delivered.outcome.status.map(|status| (UPSTREAM_STATUS, HeaderValue::from(status))));
    let Some(answer) = delivered.outcome.answer else { return (StatusCode::OK, headers).into_response() };
    if answer.truncated {
        headers.insert(TRUNCATED, HeaderValue::from_static("true"));
    }
    let content_type = answer.content_type.as_deref().and_then(|text| HeaderValue::try_from(text).ok());
    headers.extend(content_type.map(|value| (header::CONTENT_TYPE, value)));
    (StatusCode::OK, headers, Body::from(answer.bytes())).into_response()
}
