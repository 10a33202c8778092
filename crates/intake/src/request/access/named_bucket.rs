//! Extractors for a bucket that needn't exist.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use dripfeed_auth::{Caller, Permission};
use dripfeed_job::BucketName;
use http::request::Parts;

use super::{Allowed, check_bucket, path_param};
use crate::buckets::define::definitions::Definitions;
use crate::intake::Intake;
use crate::problem::{Code, Problem};

/// A caller with permission `P`, and the bucket name in the path.
pub(crate) struct NamedBucketAccess<P> {
    pub(crate) caller: Caller,
    pub(crate) name: String,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequestParts<Intake> for NamedBucketAccess<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let Allowed { caller, .. } = Allowed::<P>::from_request_parts(parts, intake).await?;
        let name = path_param(parts, intake, "bucket").await.unwrap_or_default();
        check_bucket(&caller, &name)?;
        Ok(Self { caller, name, permission: PhantomData })
    }
}

/// A caller with permission `P`, and the bucket name in the path; the bucket may be created.
pub(crate) struct NewBucketAccess<P> {
    pub(crate) caller: Caller,
    pub(crate) name: BucketName,
    pub(crate) definitions: Arc<dyn Definitions>,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequestParts<Intake> for NewBucketAccess<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        let NamedBucketAccess { caller, name, .. } = NamedBucketAccess::<P>::from_request_parts(parts, intake).await?;
        let name = name.as_str();
        let definitions = intake.definitions().ok_or_else(nobody_defines)?;
        if definitions.is_configured(name) {
            return Err(Problem::configured_bucket());
        }
        if !definitions.is_on() {
            return Err(nobody_defines());
        }
        let bad_name = |error: dripfeed_job::BadBucketName| Problem::bad_member("bucket", &error.to_string());
        let name = name.parse().map_err(bad_name)?;
        Ok(Self { caller, name, definitions, permission: PhantomData })
    }
}

fn nobody_defines() -> Problem {
    Problem::new(Code::Forbidden, "buckets can't be created over the API: define.upstreams is empty")
}
