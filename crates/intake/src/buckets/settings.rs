//! `GET …/settings`: the settings that can be changed at run time, with their values.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use dripfeed_auth::Read;
use dripfeed_bucket::{Bucket, Census, RUN_TIME_SETTINGS, RunTimeSetting};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::buckets::version;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::pagination::{List, NoParams, Params};
use crate::request::preconditions::e_tag;

/// A setting that can be changed at run time.
#[derive(Serialize, ToSchema)]
#[schema(as = Setting)]
pub(crate) struct SettingState {
    /// As in the configuration, such as `leak.rate`. In PATCH, the part before the dot is an object.
    name: &'static str,
    /// May be empty.
    description: &'static str,
    /// An example, as `dripfeed set` takes it.
    example: &'static str,
    /// The value in force, as PATCH takes it; null: no limit.
    #[schema(required)]
    value: Value,
    /// The configured value.
    #[schema(required)]
    configured: Value,
    /// Whether it was changed at run time.
    changed: bool,
}

/// Lists the settings of a bucket that can be changed at run time, with their values. The `ETag` is that of the bucket.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/settings", tag = "buckets", params(parameters::Bucket),
    operation_id = "list_settings",
    responses(
        (status = 200, description = "The settings", body = List<SettingState>,
            headers(("ETag" = String, description = "The bucket's version, for `If-Match` of PATCH"))),
        responses::OfBucket
    )
)]
pub(crate) async fn settings(
    State(intake): State<Intake>,
    BucketAccess { bucket, .. }: BucketAccess<Read>,
    _: Params<NoParams>,
) -> Result<Response, Problem> {
    let (bucket, census) = intake.in_current(bucket, async |bucket| bucket.census().await).await;
    let census = census?;
    let items = RUN_TIME_SETTINGS.iter().map(|setting| SettingState::of(setting, &bucket, &census)).collect();
    let tag = e_tag(version::current(&intake, &bucket, &census.version));
    Ok(([tag], Json(List::<SettingState> { items, next: None })).into_response())
}

impl SettingState {
    fn of(setting: &'static RunTimeSetting, bucket: &Bucket, census: &Census) -> Self {
        Self {
            name: setting.name,
            description: setting.description,
            example: setting.example,
            value: setting.value(&census.settings, &census.limits),
            configured: setting.value(&bucket.settings(), &bucket.limits()),
            changed: census.overrides.has(setting.name),
        }
    }
}
