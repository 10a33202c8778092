//! `PATCH …`: overrides settings at run time, at once for all replicas and for jobs already queued.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use dripfeed_auth::Operate;
use dripfeed_bucket::{Bucket, BucketError, BucketLimits, BucketSettings, Census, FairFault, Leak, Overrides};
use http::HeaderMap;
use serde::Deserialize;

use crate::buckets::audit;
use crate::buckets::patch::Patch;
use crate::buckets::state::BucketState;
use crate::buckets::value_change;
use crate::buckets::version;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{self, Params};
use crate::request::preconditions::{Preconditions, e_tag};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChangeQuery {
    /// With `true` the change is validated, as without, and nothing is changed: the response has the current state.
    #[param(value_type = Option<bool>, example = true)]
    dry_run: Option<String>,
}

/// How often a conditional change is tried again that meets another one.
const TRIES: usize = 10;

/// Changes settings at run time. `null` restores the configured value. With `If-Match`, nothing is changed (412) if
/// somebody has changed, paused or resumed the bucket since.
#[utoipa::path(
    patch, path = "/v1/buckets/{bucket}", tag = "buckets", params(parameters::Bucket, ChangeQuery, parameters::IfMatch),
    request_body = Patch, operation_id = "change_bucket",
    responses(
        (status = 200, description = "The changed bucket", body = BucketState,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        responses::OfSettings
    )
)]
pub(crate) async fn change(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    Params(query): Params<ChangeQuery>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let is_dry_run = pagination::parsed::<bool>("dry_run", query.dry_run.as_deref())? == Some(true);
    let preconditions = Preconditions::of(&headers)?;
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    let overrides = body::parse(body, |body| json::read::<Patch>(body)?.overrides()).await?;
    check_defined(&intake, &bucket, &overrides)?;
    if is_dry_run {
        judge(&intake, &bucket, &overrides, &preconditions).await?;
    } else {
        let before = apply(&intake, &bucket, &overrides, &preconditions).await?;
        audit::record_changes(&bucket, &caller, "change", value_change::all(&bucket, &before, &overrides)).await;
    }
    let state = BucketState::of(&bucket).await?;
    Ok(([e_tag(version::current(&intake, &bucket, &state.version))], Json(state)).into_response())
}

/// Returns the state before.
async fn apply(
    intake: &Intake,
    bucket: &Bucket,
    overrides: &Overrides,
    preconditions: &Preconditions,
) -> Result<Census, Problem> {
    for _ in 0..TRIES {
        let before = judge(intake, bucket, overrides, preconditions).await?;
        if preconditions.is_empty() {
            bucket.apply_overrides(overrides).await?;
            return Ok(before);
        }
        if bucket.apply_overrides_to(&before.version, overrides).await? {
            return Ok(before);
        }
    }
    Err(BucketError::Changing.into())
}

/// Refuses what may not be applied to the bucket as it is now, and returns its state.
async fn judge(
    intake: &Intake,
    bucket: &Bucket,
    overrides: &Overrides,
    preconditions: &Preconditions,
) -> Result<Census, Problem> {
    // Definitions are in another slot, so they can't be compared where the change is written. Nor does one undo the
    // other.
    if !preconditions.is_empty()
        && let Some(definitions) = intake.definitions().filter(|_| bucket.incarnation().is_some())
    {
        definitions.follow().await?;
    }
    let before = bucket.census().await?;
    preconditions.check("bucket", Some(version::current(intake, bucket, &before.version)))?;
    check_fits(bucket, &before, overrides)?;
    Ok(before)
}

/// With those that were changed before.
fn check_fits(bucket: &Bucket, before: &Census, overrides: &Overrides) -> Result<(), Problem> {
    let all = || before.overrides.clone().and(overrides.clone());
    if overrides.has("leak.rate") || overrides.has("leak.burst") {
        check_burst_fits(bucket, &all())?;
    }
    if overrides.iter().any(|(setting, _)| setting.place().0 == "fair") {
        check_fair(bucket, &all())?;
    }
    bucket.check_overrides(overrides)?;
    Ok(())
}

/// Settings of fair queuing must fit each other, whichever of them is changed.
fn check_fair(bucket: &Bucket, overrides: &Overrides) -> Result<(), Problem> {
    let (BucketSettings { fair, .. }, _) = overrides.over(&bucket.settings(), &BucketLimits::default());
    let refused = |fault: FairFault| Err(Problem::bad_member(&format!("fair.{}", fault.setting), &fault.why));
    fair.faults().next().map_or(Ok(()), refused)
}

/// How large a bucket is that was defined at run time counts against `define.bytes`, and so is said there. Nor may a
/// change have more calls at once than a definition.
fn check_defined(intake: &Intake, bucket: &Bucket, overrides: &Overrides) -> Result<(), Problem> {
    let Some(definitions) = intake.definitions().filter(|_| bucket.incarnation().is_some()) else { return Ok(()) };
    if let Some(name) = ["capacity", "capacity_bytes"].into_iter().find(|name| overrides.has(name)) {
        return Err(Problem::bad_member(name, &format!("{name}: can't be changed here; PUT the bucket's definition")));
    }
    let (BucketSettings { leak, .. }, _) = overrides.over(&bucket.settings(), &BucketLimits::default());
    let most = definitions.most_concurrency();
    if overrides.has("leak.concurrency") && leak.concurrency > most {
        let detail = format!("leak.concurrency: use at most {most}, as in define.concurrency");
        return Err(Problem::bad_member("leak.concurrency", &detail));
    }
    Ok(())
}

/// Rate and burst must fit, whichever of them is changed.
fn check_burst_fits(bucket: &Bucket, overrides: &Overrides) -> Result<(), Problem> {
    let (BucketSettings { leak, .. }, _) = overrides.over(&bucket.settings(), &BucketLimits::default());
    Leak::fault(leak.rate, leak.burst).map_or(Ok(()), |fault| Err(Problem::bad_member("leak.burst", &fault)))
}
