//! `Prefer: wait=10` (RFC 7240): waits for the outcome and returns the upstream's response instead of 202.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use dripfeed_auth::{Caller, LimitedCaller};
use dripfeed_bucket::{Admitted, Bucket, EndedJob};
use dripfeed_job::preferences::{self, PREFER};
use dripfeed_job::{Ending, JobId};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::intake::Intake;
use crate::request::response_memory;
use crate::submit::ratelimit_fields::FreeCapacity;
use crate::submit::receipt;

pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

const JOB_ID: HeaderName = HeaderName::from_static("dripfeed-job-id");
const UPSTREAM_STATUS: HeaderName = HeaderName::from_static("dripfeed-upstream-status");
/// The bucket stored only the beginning of the upstream's response.
const TRUNCATED: HeaderName = HeaderName::from_static("dripfeed-truncated");
/// Longer waits are capped.
const MAX_WAIT_S: u64 = 60;

/// How long to wait for the outcome; whole seconds, 1 to 60.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyncWait(u64);

impl SyncWait {
    /// Parses the first `wait` preference. Other preferences and malformed ones are ignored (RFC 7240, 2).
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let seconds =
            headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok()).find_map(preferences::wait)?;
        let is_number = !seconds.is_empty() && seconds.bytes().all(|c| c.is_ascii_digit());
        // More digits than fit a u64 still mean "very long".
        let seconds = is_number.then(|| seconds.parse().unwrap_or(u64::MAX))?;
        (seconds > 0).then(|| Self(seconds.min(MAX_WAIT_S)))
    }

    pub(crate) const fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }

    /// The header `Preference-Applied`.
    pub(crate) fn applied(self) -> (HeaderName, HeaderValue) {
        let wait = HeaderValue::try_from(format!("wait={}", self.0));
        (PREFERENCE_APPLIED, wait.unwrap_or(HeaderValue::from_static("wait")))
    }
}

/// Responds with 200 and the upstream's response if the job was delivered in time. Otherwise with 202: also if the
/// bucket was removed, or the key of `reader` revoked meanwhile, or too many large responses are unread. If too many
/// requests wait already, it responds with 202 at once, without `Preference-Applied`.
pub(crate) async fn respond(
    intake: &Intake,
    bucket: &Bucket,
    admitted: &Admitted,
    wait: SyncWait,
    reader: &Caller,
    waiter: LimitedCaller,
) -> Response {
    let Some(_permit) = intake.waits().enter(waiter.clone()) else {
        return receipt::response(intake.settings(), bucket, admitted);
    };
    let ended = tokio::select! {
        ended = outcome(bucket, admitted.id, wait) => ended,
        () = no_longer_served(intake, bucket) => None,
    };
    let may_see = |ended: &EndedJob| ended.outcome.result == Ending::Delivered && intake.keys().is_current(reader);
    let delivered = match ended.filter(may_see) {
        Some(delivered) => response_memory::reserve(intake, waiter, upstream_response(delivered)).await.ok(),
        None => None,
    };
    let mut response = match delivered {
        Some(response) => {
            let fields: HeaderMap = FreeCapacity::from(admitted)
                .fields(intake.settings())
                .into_iter()
                .chain(receipt::location(bucket.name(), &admitted.id.to_string()))
                .chain(receipt::replayed(admitted))
                .collect();
            (fields, response).into_response()
        }
        None => receipt::response(intake.settings(), bucket, admitted),
    };
    response.headers_mut().extend([wait.applied()]);
    response
}

/// Waits for the end of an existing job. Returns false without waiting if too many requests wait already.
pub(crate) async fn wait_until_ended(
    intake: &Intake,
    bucket: &Bucket,
    id: JobId,
    wait: SyncWait,
    waiter: LimitedCaller,
) -> bool {
    let Some(_permit) = intake.waits().enter(waiter) else { return false };
    tokio::select! {
        _ = outcome(bucket, id, wait) => {}
        () = no_longer_served(intake, bucket) => {}
    }
    true
}

/// Completes when this intake drains, or no longer serves the bucket: then waiting requests are answered.
async fn no_longer_served(intake: &Intake, bucket: &Bucket) {
    tokio::select! {
        () = intake.health().draining().cancelled() => {}
        () = intake.buckets().removed(bucket) => {}
    }
}

/// Returns `None` on an error, too: the job is admitted, so the request hasn't failed.
async fn outcome(bucket: &Bucket, id: JobId, wait: SyncWait) -> Option<EndedJob> {
    bucket.await_outcome(id, wait.duration()).await.unwrap_or_else(|error| {
        tracing::debug!(%error, job = %id, "could not wait for the outcome; responding without it");
        None
    })
}

fn upstream_response(delivered: EndedJob) -> Response {
    let mut headers = HeaderMap::new();
    headers.extend(HeaderValue::try_from(delivered.id.to_string()).map(|id| (JOB_ID, id)));
    headers.extend(delivered.outcome.status.map(|status| (UPSTREAM_STATUS, HeaderValue::from(status))));
    let Some(answer) = delivered.outcome.answer else { return (StatusCode::OK, headers).into_response() };
    if answer.truncated {
        headers.insert(TRUNCATED, HeaderValue::from_static("true"));
    }
    let of_body = [(header::CONTENT_TYPE, &answer.content_type), (header::CONTENT_ENCODING, &answer.content_encoding)];
    for (name, text) in of_body {
        headers.extend(text.as_deref().and_then(|text| HeaderValue::try_from(text).ok()).map(|value| (name, value)));
    }
    (StatusCode::OK, headers, Body::from(answer.bytes())).into_response()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn wait(values: &[&str]) -> Option<u64> {
        let headers: HeaderMap = values.iter().map(|value| (PREFER, value.parse().unwrap())).collect();
        SyncWait::of(&headers).map(|wait| wait.0)
    }

    #[test]
    fn the_wait_is_found_among_other_preferences() {
        assert_eq!(wait(&["wait=10"]), Some(10));
        assert_eq!(wait(&["respond-async, Wait = 10"]), Some(10));
        assert_eq!(wait(&["foo=\"a, wait=3; b\", wait=\"10\"; x=y"]), Some(10));
        assert_eq!(wait(&["foo=\"\\\", wait=3\", wait=4"]), Some(4));
        assert_eq!(wait(&["return=minimal", "wait=7"]), Some(7));
        assert_eq!(wait(&["wait=7, wait=9"]), Some(7));
    }

    #[test]
    fn the_wait_is_capped() {
        assert_eq!(wait(&["wait=3600"]), Some(60));
        assert_eq!(wait(&["wait=99999999999999999999999"]), Some(60));
    }

    #[test]
    fn a_malformed_wait_is_ignored() {
        for value in ["", "wait", "wait=", "wait=0", "wait=-1", "wait=1.5", "wait=ten", "waiting=10", "x; wait=10"] {
            assert_eq!(wait(&[value]), None, "{value:?}");
        }
    }
}
