//! Who calls, and whether they may: checked before anything else of a request is looked at.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use dripfeed_bucket::Bucket;
use dripfeed_job::JobId;
use dripfeed_limit::ServiceName;
use http::request::Parts;
use http::{HeaderMap, HeaderName, header};

use crate::intake::Intake;
use crate::keys::{AccessKey, Keys, Scope, Shown};
use crate::problem::{Code, Problem};

/// By this the key comes when `Authorization` is for the upstream.
pub(crate) const DRIPFEED_KEY: HeaderName = HeaderName::from_static("dripfeed-key");

/// Who calls.
#[derive(Clone, Debug)]
pub struct Caller {
    /// None: no keys are configured, everybody may do everything.
    key: Option<Arc<AccessKey>>,
    /// `Authorization` was the key to dripfeed, and isn't meant for the upstream.
    pub(crate) authorization_is_ours: bool,
}

impl Keys {
    /// Who shows a key as `Authorization: Bearer …` or `Dripfeed-Key: …`. None: it is none of these, and one is needed.
    #[must_use]
    pub fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        let (key, authorization_is_ours) = match own_key(headers) {
            Some(key) => (Some(key), false),
            None => (bearer(headers), true),
        };
        match self.identify(key) {
            Shown::Open => Some(Caller { key: None, authorization_is_ours: false }),
            Shown::Known(key) => Some(Caller { key: Some(key), authorization_is_ours }),
            Shown::Unknown => None,
        }
    }
}

impl Caller {
    fn of(intake: &Intake, headers: &HeaderMap) -> Result<Self, Problem> {
        let unknown = "send a valid key as `Authorization: Bearer …` or `Dripfeed-Key: …`";
        intake.keys().caller(headers).ok_or_else(|| Problem::new(Code::Unauthenticated, unknown))
    }

    /// The id of the key. None: no keys are configured.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.id.as_str())
    }

    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.key.as_ref().is_none_or(|key| key.scopes.contains(&scope))
    }

    pub(crate) fn may_use(&self, bucket: &str) -> bool {
        self.key.as_ref().is_none_or(|key| key.buckets.has(bucket))
    }

    #[must_use]
    pub fn may_use_service(&self, service: &str) -> bool {
        self.key.as_ref().is_none_or(|key| key.services.has(service))
    }

    fn needs(&self, scope: Scope) -> Result<(), Problem> {
        let lacks = || Problem::new(Code::Forbidden, format!("this key lacks the scope `{}`", scope.as_str()));
        if self.may(scope) { Ok(()) } else { Err(lacks()) }
    }
}

fn own_key(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(DRIPFEED_KEY).map(|value| value.as_bytes())
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii())
}

/// What a call does, and so which scope lets it pass.
pub(crate) trait Deed: Send + Sync {
    const SCOPE: Scope;
    /// A page of another origin must not do it in its visitor's name.
    const CHANGES: bool;
}

pub(crate) struct Submit;
pub(crate) struct Read;
pub(crate) struct Operate;

impl Deed for Submit {
    const SCOPE: Scope = Scope::Submit;
    const CHANGES: bool = true;
}

impl Deed for Read {
    const SCOPE: Scope = Scope::Read;
    const CHANGES: bool = false;
}

impl Deed for Operate {
    const SCOPE: Scope = Scope::Operate;
    const CHANGES: bool = true;
}

/// A caller who may do `D`.
pub(crate) struct Allowed<D> {
    pub(crate) caller: Caller,
    deed: PhantomData<D>,
}

impl<D: Deed> FromRequestParts<Intake> for Allowed<D> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let caller = Caller::of(intake, &parts.headers)?;
        if D::CHANGES {
            same_origin(&parts.headers)?;
        }
        caller.needs(D::SCOPE)?;
        Ok(Self { caller, deed: PhantomData })
    }
}

/// A caller who may do `D` to the bucket that the path names.
pub(crate) struct At<D> {
    pub(crate) caller: Caller,
    pub(crate) bucket: Bucket,
    deed: PhantomData<D>,
}

impl<D: Deed> FromRequestParts<Intake> for At<D> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let Allowed { caller, .. } = Allowed::<D>::from_request_parts(parts, intake).await?;
        let name = path_param(parts, intake, "bucket").await;
        let name = name.as_deref().unwrap_or_default();
        // Asked first: who may not use a bucket doesn't learn whether it exists.
        if !caller.may_use(name) {
            return Err(Problem::new(Code::Forbidden, "this key is not for this bucket"));
        }
        let bucket = intake.buckets().get(name).ok_or_else(Problem::unknown_bucket)?;
        Ok(Self { caller, bucket, deed: PhantomData })
    }
}

/// A caller who may do `D` to the service that the path names, whether it is registered or not.
pub(crate) struct For<D> {
    pub(crate) caller: Caller,
    pub(crate) service: ServiceName,
    deed: PhantomData<D>,
}

impl<D: Deed> FromRequestParts<Intake> for For<D> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let Allowed { caller, .. } = Allowed::<D>::from_request_parts(parts, intake).await?;
        let name = path_param(parts, intake, "service").await;
        let name = name.as_deref().unwrap_or_default();
        // As for buckets.
        if !caller.may_use_service(name) {
            return Err(Problem::new(Code::Forbidden, "this key is not for this service"));
        }
        let service = name.parse().map_err(|_| Problem::unknown_service())?;
        Ok(Self { caller, service, deed: PhantomData })
    }
}

/// The job id in the path. What is no id names no job, and Redis isn't asked.
pub(crate) struct NamedJob(pub(crate) JobId);

impl FromRequestParts<Intake> for NamedJob {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let id = path_param(parts, intake, "id").await;
        id.and_then(|id| id.parse().ok()).map(Self).ok_or_else(Problem::unknown_job)
    }
}

async fn path_param(parts: &mut Parts, intake: &Intake, name: &str) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, intake).await.ok()?;
    params.iter().find(|(param, _)| *param == name).map(|(_, value)| value.to_owned())
}

/// Browsers name the page's origin with every request that may change something.
fn same_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let text = |value: Option<&http::HeaderValue>| value.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let origin = text(Some(origin)).and_then(|origin| origin.split_once("://").map(|(_, host)| host.to_owned()));
    match (origin, text(headers.get(header::HOST))) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(&host) => Ok(()),
        _ => Err(Problem::new(Code::Forbidden, "pages of another origin may not change anything here")),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_bearer_is_read_whatever_its_case() {
        for value in ["Bearer k", "bearer k", "BEARER  k "] {
            assert_eq!(bearer(&headers(&[("authorization", value)])), Some(&b"k"[..]), "{value}");
        }
        for value in ["Basic k", "Bearer", "k"] {
            assert_eq!(bearer(&headers(&[("authorization", value)])), None, "{value}");
        }
    }

    #[test]
    fn only_pages_of_the_same_origin_may_change_things() {
        let check = |pairs: &[(&str, &str)]| same_origin(&headers(pairs)).is_ok();
        assert!(check(&[("host", "a:7180")]));
        assert!(check(&[("host", "a:7180"), ("origin", "http://A:7180")]));
        assert!(!check(&[("host", "a:7180"), ("origin", "http://b:7180")]));
        assert!(!check(&[("host", "a:7180"), ("origin", "http://a")]));
        assert!(!check(&[("host", "a:7180"), ("origin", "null")]));
        assert!(!check(&[("origin", "http://a")]));
    }
}
