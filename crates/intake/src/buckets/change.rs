//! `PATCH …`: overrides settings at run time, at once for all replicas and for jobs already queued.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use dripfeed_auth::Operate;
use dripfeed_bucket::{
    Bucket, BucketError, BucketLimits, BucketSettings, Census, Definition, EffectiveState, FairFault, Leak, Overrides,
};
use http::HeaderMap;
use serde::Deserialize;

use crate::buckets::audit;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
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

/// How often to try a change that conflicts with another one.
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
    let (bucket, checked, state) = if is_dry_run {
        let (intake, overrides, preconditions) = (&intake, &overrides, &preconditions);
        let check = |bucket| async move { check_change(intake, &bucket, overrides, preconditions).await };
        let (bucket, checked) = intake.in_current(bucket, check).await;
        let (checked, state) = (checked?, BucketState::of(&bucket).await?);
        (bucket, checked, state)
    } else {
        // The changes of one caller are made one after another, so that each is checked against the result of the
        // previous one.
        let turn = intake.lookup_turn(&caller, address).await;
        let intake = intake.clone();
        let work = async move {
            let (of, overrides, preconditions) = (&intake, &overrides, &preconditions);
            let apply = |bucket| async move { apply(of, &bucket, overrides, preconditions).await };
            let (bucket, applied) = intake.in_current(bucket, apply).await;
            let (checked, in_force) = applied?;
            let changes = value_change::all(&bucket, &checked.before, overrides);
            let in_force = record_unconfirmed(&bucket, &caller, "change", &changes.join(", "), in_force).await?;
            audit::record_changes(&bucket, &caller, "change", changes).await;
            Ok::<_, Problem>((bucket, checked, in_force))
        };
        let (bucket, checked, in_force) = turn.run(work).await??;
        let state = BucketState::after(&bucket, &in_force).await?;
        (bucket, checked, state)
    };
    let tag = version::of(&bucket, checked.definition.as_deref(), &state.version);
    Ok(([e_tag(tag)], Json(state)).into_response())
}

/// The state to which a change may be applied.
struct Checked {
    before: Census,
    /// The definition of a bucket that was created over the API.
    definition: Option<Arc<Definition>>,
}

/// Applies a change. Returns the state before it, and the settings that are in force by it, or the error if the change
/// may be done.
async fn apply(
    intake: &Intake,
    bucket: &Bucket,
    overrides: &Overrides,
    preconditions: &Preconditions,
) -> Result<(Checked, Result<EffectiveState, BucketError>), Problem> {
    for _ in 0..TRIES {
        let checked = check_change(intake, bucket, overrides, preconditions).await?;
        match bucket.apply_overrides_to(&checked.before.version, overrides).await {
            Ok(Some(in_force)) => return Ok((checked, Ok(in_force))),
            Ok(None) => {}
            Err(error) if error.may_be_done() => return Ok((checked, Err(error))),
            Err(error) => return Err(error.into()),
        }
    }
    Err(BucketError::Changing.into())
}

/// Refuses a change that may not be applied to the current state of the bucket.
async fn check_change(
    intake: &Intake,
    bucket: &Bucket,
    overrides: &Overrides,
    preconditions: &Preconditions,
) -> Result<Checked, Problem> {
    // Checked before the write, because definitions are in another slot than the change. Neither undoes the other.
    if !preconditions.is_empty()
        && let Some(definitions) = intake.definitions().filter(|_| bucket.incarnation().is_some())
    {
        definitions.follow().await?;
    }
    let definition = version::definition(intake, bucket);
    let before = bucket.census().await?;
    preconditions.check("bucket", Some(version::of(bucket, definition.as_deref(), &before.version)))?;
    check_fits(bucket, &before, overrides)?;
    Ok(Checked { before, definition })
}

/// Checks whether the settings fit each other, including those that were changed before.
fn check_fits(bucket: &Bucket, before: &Census, overrides: &Overrides) -> Result<(), Problem> {
    // First: those of a list don't fit either, but nothing makes them fit.
    bucket.check_overrides(overrides)?;
    let all = || before.overrides.clone().and(overrides.clone());
    if overrides.has("leak.rate") || overrides.has("leak.burst") {
        check_burst_fits(bucket, &all())?;
    }
    if overrides.iter().any(|(setting, _)| setting.place().0 == "fair") {
        check_fair(bucket, &all())?;
    }
    Ok(())
}

/// Checks whether the settings of fair queuing fit each other.
fn check_fair(bucket: &Bucket, overrides: &Overrides) -> Result<(), Problem> {
    let (BucketSettings { fair, .. }, _) = overrides.over(&bucket.settings(), &BucketLimits::default());
    let refused = |fault: FairFault| Err(Problem::bad_member(&format!("fair.{}", fault.setting), &fault.why));
    fair.faults().next().map_or(Ok(()), refused)
}

/// Refuses changes that a bucket created over the API may not have: its capacity counts for `define.bytes`, so only the
/// definition may change it, and its concurrency is limited as in a definition.
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

/// Checks whether rate and burst fit each other.
fn check_burst_fits(bucket: &Bucket, overrides: &Overrides) -> Result<(), Problem> {
    let (BucketSettings { leak, .. }, _) = overrides.over(&bucket.settings(), &BucketLimits::default());
    Leak::fault(leak.rate, leak.burst).map_or(Ok(()), |fault| Err(Problem::bad_member("leak.burst", &fault)))
}
