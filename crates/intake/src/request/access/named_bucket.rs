use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use dripfeed_auth::{Caller, Permission};
use http::request::Parts;

use super::{Allowed, check_bucket, path_param};
use crate::intake::Intake;
use crate::problem::Problem;

/// A caller with permission `P`, and the bucket name in the path; the bucket needn't exist.
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
