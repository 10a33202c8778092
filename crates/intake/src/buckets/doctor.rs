//! `GET …/doctor`: checks the invariants of a bucket in Redis.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::{Bucket, Finding};
use serde::Serialize;
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{NoParams, Params};

#[derive(Serialize, ToSchema)]
#[schema(as = Examination)]
pub(crate) struct Examined {
    /// The violated invariants; empty if all hold.
    findings: Vec<Found>,
    /// What could not be checked, and why.
    unchecked: Vec<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Finding)]
struct Found {
    what: &'static str,
    count: u64,
    /// An example: a job, a key or a name.
    #[schema(required)]
    example: Option<String>,
    /// How `dripfeed doctor --repair` repairs it; null: can't be repaired.
    #[schema(required)]
    remedy: Option<&'static str>,
}

/// Checks the invariants of a bucket, as `dripfeed doctor` does. It reads every job, a bounded number in each script,
/// and checks one bucket at a time.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/doctor", tag = "buckets", params(parameters::Bucket),
    operation_id = "examine_bucket",
    responses((status = 200, description = "The findings", body = Examined), responses::OfBucket)
)]
pub(crate) async fn doctor(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
) -> Result<Json<Examined>, Problem> {
    let (waiter, one_at_a_time) = (LimitedCaller::new(caller.id(), address), intake.clone());
    let examine = |bucket: Bucket| async move {
        let _examining = one_at_a_time.examining().lock().await;
        bucket.examine(false).await
    };
    let examined = intake.in_turn(waiter, &bucket, examine).await?;
    let findings = examined.findings.into_iter().map(Found::from).collect();
    Ok(Json(Examined { findings, unchecked: examined.unchecked }))
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        let (what, remedy) = (finding.kind.what(), finding.kind.remedy());
        Self { what, count: finding.count, example: finding.example, remedy }
    }
}
