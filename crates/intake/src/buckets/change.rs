//! `PATCH …`: overrides settings at run time, at once for all replicas and for jobs already queued.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use dripfeed_auth::Operate;
use dripfeed_bucket::{
    Bucket, BucketError, BucketLimits, BucketSettings, Census, Definition, FairFault, InForce, Leak, Overrides,
};
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

/// How often a change is tried again that meets another one.
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
    let (judged, state) = if is_dry_run {
        let judged = judge(&intake, &bucket, &overrides, &preconditions).await?;
        (judged, BucketState::of(&bucket).await?)
    } else {
        // Those of one caller are made one after the other: each is judged by what the one before has left.
        let turn = intake.lookup_turn(&caller, address).await;
        let (intake, changed) = (intake.clone(), bucket.clone());
        let work = async move {
            let (judged, in_force) = apply(&intake, &changed, &overrides, &preconditions).await?;
            let changes = value_change::all(&changed, &judged.before, &overrides);
            audit::record_changes(&changed, &caller, "change", changes).await;
            Ok::<_, Problem>((judged, in_force))
        };
        let (judged, in_force) = turn.run(work).await??;
        (judged, BucketState::after(&bucket, &in_force).await?)
    };
    let tag = version::of(&bucket, judged.definition.as_deref(), &state.version);
    Ok(([e_tag(tag)], Json(state)).into_response())
}

/// What a change may be applied to.
struct Judged {
    before: Census,
    /// Of a bucket that was created over the API.
    definition: Option<Arc<Definition>>,
}

/// Returns what it was applied to, and what is in force by it.
async fn apply(
    intake: &Intake,
    bucket: &Bucket,
    overrides: &Overrides,
    preconditions: &Preconditions,
) -> Result<(Judged, InForce), Problem> {
    for _ in 0..TRIES {
        let judged = judge(intake, bucket, overrides, preconditions).await?;
        if let Some(in_force) = bucket.apply_overrides_to(&judged.before.version, overrides).await? {
            return Ok((judged, in_force));
        }
    }
    Err(BucketError::Changing.into())
}

/// Refuses what may not be applied to the bucket as it is now.
async fn judge(
    intake: &Intake,
    bucket: &Bucket,
    overrides: &Overrides,
    preconditions: &Preconditions,
) -> Result<Judged, Problem> {
    // Definitions are in another slot, so they can't be compared where the change is written. Nor does one undo the
    // other.
    if !preconditions.is_empty()
        && let Some(definitions) = intake.definitions().filter(|_| bucket.incarnation().is_some())
    {
        definitions.follow().await?;
    }
    let definition = version::definition(intake, bucket);
    let before = bucket.census().await?;
    preconditions.check("bucket", Some(version::of(bucket, definition.as_deref(), &before.version)))?;
    check_fits(bucket, &before, overrides)?;
    Ok(Judged { before, definition })
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
