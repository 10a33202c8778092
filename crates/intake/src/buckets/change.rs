//! `PATCH …`: overrides settings at run time, at once for all replicas and for jobs already queued.

use axum::body::Body;
use axum::extract::State;
use dripfeed_auth::Operate;
use dripfeed_bucket::{Bucket, BucketLimits, BucketSettings, FairFault, Leak, Overrides};
use serde::Deserialize;

use crate::buckets::audit;
use crate::buckets::patch::Patch;
use crate::buckets::state::BucketState;
use crate::buckets::value_change;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{self, Params};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChangeQuery {
    /// With `true` the change is validated, as without, and nothing is changed: the response has the current state.
    #[param(value_type = Option<bool>, example = true)]
    dry_run: Option<String>,
}

/// Changes settings at run time. `null` restores the configured value.
#[utoipa::path(
    patch, path = "/v1/buckets/{bucket}", tag = "buckets", params(parameters::Bucket, ChangeQuery),
    request_body = Patch,
    operation_id = "change_bucket",
    responses((status = 200, description = "The changed bucket", body = BucketState), responses::OfChange)
)]
pub(crate) async fn change(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    Params(query): Params<ChangeQuery>,
    ClientIp(address): ClientIp,
    body: Body,
) -> Result<axum::Json<BucketState>, Problem> {
    let is_dry_run = pagination::parsed::<bool>("dry_run", query.dry_run.as_deref())? == Some(true);
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    let overrides = body::parse(body, |body| json::read::<Patch>(body)?.overrides()).await?;
    check_defined(&intake, &bucket, &overrides)?;
    let before = bucket.census().await?;
    if overrides.has("leak.rate") || overrides.has("leak.burst") {
        check_burst_fits(&bucket, &before.overrides.clone().and(overrides.clone()))?;
    }
    if overrides.iter().any(|(setting, _)| setting.place().0 == "fair") {
        check_fair(&bucket, &before.overrides.clone().and(overrides.clone()))?;
    }
    bucket.check_overrides(&overrides)?;
    if is_dry_run {
        return BucketState::of(&bucket).await.map(axum::Json);
    }
    bucket.apply_overrides(&overrides).await?;
    audit::record_changes(&bucket, &caller, "change", value_change::all(&bucket, &before, &overrides)).await;
    BucketState::of(&bucket).await.map(axum::Json)
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
