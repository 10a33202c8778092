//! `GET /v1/buckets/{b}`: a bucket's state, and its definition if it was created over the API.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dripfeed_auth::{Caller, Read, Scope};
use dripfeed_bucket::{Bucket, Definition};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::buckets::state::BucketState;
use crate::buckets::version;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::pagination::{NoParams, Params};
use crate::request::preconditions::e_tag;

/// A bucket, with its definition if it was created over the API.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownBucket {
    #[serde(flatten)]
    state: BucketState,
    /// The definition as PUT, without defaults and credentials. Missing: the bucket is in the configuration file, or
    /// the key lacks the scope `define`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    definition: Option<Value>,
    /// Whether the definition has credentials, which are never shown. Missing: the bucket is in the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    has_credentials: Option<bool>,
    /// The id of the key that defined it last. Missing: the bucket is in the configuration file, or no keys were
    /// configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    defined_by: Option<String>,
}

/// Returns the state of a bucket: level, rates and settings. For a bucket created over the API also its definition.
/// The `ETag` is another one after each change of the definition or of settings, pause and resume; send it as
/// `If-Match` to change what you have seen, or nothing.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}", tag = "buckets", params(parameters::Bucket),
    operation_id = "get_bucket",
    responses(
        (status = 200, description = "The bucket", body = ShownBucket,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        responses::OfBucket
    )
)]
pub(crate) async fn bucket(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    _: Params<NoParams>,
) -> Result<Response, Problem> {
    let (bucket, state) = intake.in_current(bucket, async |bucket| BucketState::of(&bucket).await).await;
    let definition = intake.definitions().and_then(|definitions| definitions.get(bucket.name().as_str()));
    Ok(response(state?, &bucket, &caller, definition.as_deref()))
}

pub(super) async fn show(
    bucket: &Bucket,
    caller: &Caller,
    definition: Option<&Definition>,
) -> Result<Response, Problem> {
    Ok(response(BucketState::of(bucket).await?, bucket, caller, definition))
}

fn response(state: BucketState, bucket: &Bucket, caller: &Caller, definition: Option<&Definition>) -> Response {
    let definition = definition.filter(|definition| bucket.incarnation() == Some(definition.incarnation));
    let tag = e_tag(version::of(bucket, definition, &state.version));
    let shown = ShownBucket {
        state,
        definition: definition.filter(|_| caller.may(Scope::Define)).map(|definition| definition.definition.clone()),
        has_credentials: definition.map(|definition| definition.sealed.is_some()),
        defined_by: definition.and_then(|definition| definition.by.clone()),
    };
    let mut response = Json(shown).into_response();
    response.headers_mut().extend([tag]);
    response
}
