//! The buckets of a KEDA trigger, and its key.

use std::net::IpAddr;

use dripfeed_auth::{Caller, LimitedCaller, Scope};
use dripfeed_bucket::Bucket;
use http::{HeaderMap, HeaderValue, header};
use tonic::{Request, Status};

use super::known_buckets::KnownBuckets;
use crate::access::{Access, address};
use crate::external_scaler::ScaledObjectRef;

/// Stands for all buckets that the key may read.
const ALL: &str = "*";

pub(super) struct TriggerQuery {
    /// A name, or `*`.
    bucket: String,
    headers: HeaderMap,
    /// `None` if the request didn't come over a connection.
    address: Option<IpAddr>,
}

impl TriggerQuery {
    /// Reads bucket and key from the trigger's metadata: KEDA sends no headers, and a key only as the value of a
    /// variable.
    pub(super) fn of(request: Request<ScaledObjectRef>) -> Result<Self, Status> {
        let (mut headers, address) = (request.metadata().as_ref().clone(), address(request.extensions()));
        let mut metadata = request.into_inner().scaler_metadata;
        let missing = || Status::invalid_argument("metadata: `bucket` is missing: name a bucket, or `*` for all");
        let bucket = metadata.remove("bucket").filter(|bucket| !bucket.is_empty()).ok_or_else(missing)?;
        if let Some(key) = metadata.remove("keyFromEnv") {
            let bad = |_| {
                Status::unauthenticated(
                    "metadata: the environment variable named by `keyFromEnv` contains no valid key",
                )
            };
            headers.insert(header::AUTHORIZATION, HeaderValue::try_from(format!("Bearer {key}")).map_err(bad)?);
        }
        Ok(Self { bucket, headers, address })
    }

    pub(super) fn waiter(&self, caller: &Caller) -> LimitedCaller {
        LimitedCaller::new(caller.id(), self.address)
    }

    pub(super) async fn buckets(
        &self,
        access: &Access,
        buckets: &KnownBuckets,
    ) -> Result<(Caller, Vec<Bucket>), Status> {
        let caller = access.caller(&self.headers, Scope::Read).await?;
        if self.bucket == ALL {
            let theirs = buckets.among(|name| caller.may_use(name));
            return Ok((caller, theirs));
        }
        // Checked before the lookup: a caller without access doesn't learn whether the bucket exists.
        if !caller.may_use(&self.bucket) {
            return Err(Status::permission_denied("this key has no access to this bucket"));
        }
        Ok((caller, vec![buckets.find(&self.bucket).await?]))
    }
}
