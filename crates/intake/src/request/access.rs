//! Extractors that authorize a request before the rest of it is read. A handler with one of them is called only if the
//! caller is authorized.

pub(crate) mod named_bucket;

use std::marker::PhantomData;

use axum::extract::{FromRequestParts, RawPathParams};
use dripfeed_auth::{Caller, Permission, Scope, check_key_id, is_same_origin};
use dripfeed_bucket::{Bucket, ReplayId};
use dripfeed_job::JobId;
use dripfeed_job::schedule::ScheduleId;
use dripfeed_limit::ServiceName;
use http::HeaderMap;
use http::request::Parts;

use crate::intake::Intake;
use crate::problem::{Code, Problem};

/// A caller with permission `P`.
pub(crate) struct Allowed<P> {
    pub(crate) caller: Caller,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequestParts<Intake> for Allowed<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        Self::of(&parts.headers, intake).await
    }
}

impl<P: Permission> Allowed<P> {
    pub(crate) async fn of(headers: &HeaderMap, intake: &Intake) -> Result<Self, Problem> {
        let caller = authenticate(headers, intake).await?;
        if P::CHANGES && !is_same_origin(headers) {
            return Err(Problem::new(Code::Forbidden, "cross-origin requests can't change anything"));
        }
        if !caller.may(P::SCOPE) {
            return Err(lacks(P::SCOPE));
        }
        Ok(Self { caller, permission: PhantomData })
    }
}

/// Returns the caller of a request with these headers.
pub(crate) async fn authenticate(headers: &HeaderMap, intake: &Intake) -> Result<Caller, Problem> {
    intake.keys().authenticate(headers).await?.ok_or_else(Problem::unauthenticated)
}

/// Refuses a caller whose key was revoked or changed since its request began.
pub(crate) fn check_current(caller: &Caller, intake: &Intake) -> Result<(), Problem> {
    if intake.keys().is_current(caller) {
        return Ok(());
    }
    Err(Problem::new(Code::Unauthenticated, "the key was revoked or changed during the request; send it again"))
}

/// A caller with permission `P`, and the bucket that the path names.
pub(crate) struct BucketAccess<P> {
    pub(crate) caller: Caller,
    pub(crate) bucket: Bucket,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequestParts<Intake> for BucketAccess<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let allowed = Allowed::from_request_parts(parts, intake).await?;
        let name = path_param(parts, intake, "bucket").await;
        Self::to(name.as_deref().unwrap_or_default(), allowed, intake).await
    }
}

impl<P: Permission> BucketAccess<P> {
    /// Authorizes a request with these headers for the bucket of this name.
    pub(crate) async fn of(name: &str, headers: &HeaderMap, intake: &Intake) -> Result<Self, Problem> {
        Self::to(name, Allowed::of(headers, intake).await?, intake).await
    }

    /// Returns the bucket of this name, if the caller has access to it.
    pub(crate) async fn to(name: &str, Allowed { caller, .. }: Allowed<P>, intake: &Intake) -> Result<Self, Problem> {
        // Checked before the lookup, so that a caller without access doesn't learn whether the bucket exists.
        check_bucket(&caller, name)?;
        let bucket = intake.find_bucket(name).await?;
        Ok(Self { caller, bucket, permission: PhantomData })
    }
}

fn check_bucket(caller: &Caller, name: &str) -> Result<(), Problem> {
    if caller.may_use(name) {
        return Ok(());
    }
    Err(Problem::new(Code::Forbidden, "this key has no access to this bucket"))
}

/// A caller with permission `P`, and the service that the path names, registered or not.
pub(crate) struct ServiceAccess<P> {
    pub(crate) caller: Caller,
    pub(crate) service: ServiceName,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequestParts<Intake> for ServiceAccess<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let Allowed { caller, .. } = Allowed::<P>::from_request_parts(parts, intake).await?;
        let name = path_param(parts, intake, "service").await;
        let name = name.as_deref().unwrap_or_default();
        // Checked before the lookup, as for buckets.
        if !caller.may_use_service(name) {
            return Err(Problem::new(Code::Forbidden, "this key has no access to this service"));
        }
        let service = name.parse().map_err(|error| Problem::impossible_service(&error))?;
        Ok(Self { caller, service, permission: PhantomData })
    }
}

/// The job id in the path. For a malformed id, the job is unknown, without a query of Redis.
pub(crate) struct JobInPath(pub(crate) JobId);

impl FromRequestParts<Intake> for JobInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let id = path_param(parts, intake, "id").await;
        id.and_then(|id| id.parse().ok()).map(Self).ok_or_else(Problem::unknown_job)
    }
}

/// The replay id in the path, read as [`JobInPath`].
pub(crate) struct ReplayInPath(pub(crate) ReplayId);

impl FromRequestParts<Intake> for ReplayInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let id = path_param(parts, intake, "id").await;
        id.and_then(|id| id.parse().ok()).map(Self).ok_or_else(Problem::unknown_replay)
    }
}

/// The schedule id in the path, read as [`JobInPath`].
pub(crate) struct ScheduleInPath(pub(crate) ScheduleId);

impl FromRequestParts<Intake> for ScheduleInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let id = path_param(parts, intake, "id").await;
        id.and_then(|id| id.parse().ok()).map(Self).ok_or_else(Problem::unknown_schedule)
    }
}

/// The id of a schedule that may be new. A malformed id is reported as such.
pub(crate) struct NewScheduleInPath(pub(crate) ScheduleId);

impl FromRequestParts<Intake> for NewScheduleInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let id = path_param(parts, intake, "id").await.unwrap_or_default();
        let parsed = id.parse::<ScheduleId>();
        parsed.map(Self).map_err(|error| Problem::bad_member("id", &error.to_string()))
    }
}

/// The id of an API key in the path.
pub(crate) struct KeyInPath(pub(crate) String);

impl FromRequestParts<Intake> for KeyInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let id = path_param(parts, intake, "id").await.unwrap_or_default();
        check_key_id(&id).map_err(|reason| Problem::bad_member("id", &reason))?;
        Ok(Self(id))
    }
}

pub(crate) fn lacks(scope: Scope) -> Problem {
    Problem::new(Code::Forbidden, format!("this key lacks the scope `{}`", scope.as_str()))
}

async fn path_param(parts: &mut Parts, intake: &Intake, name: &str) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, intake).await.ok()?;
    params.iter().find(|(param, _)| *param == name).map(|(_, value)| value.to_owned())
}
