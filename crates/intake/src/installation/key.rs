//! `GET /v1/key`: the permissions of the caller's key.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Scope;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::Problem;
use crate::request::access::authenticate;
use crate::request::pagination::{NoParams, Params};

#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyInfo {
    /// The key's id. Null: no keys are configured, so everyone may do everything.
    #[schema(required)]
    id: Option<String>,
    /// `submit`, `read`, `inspect`, `operate`, `define`, `keys`.
    scopes: Vec<&'static str>,
    /// Whether the key may access all buckets.
    all_buckets: bool,
    /// The highest priority of its jobs: `high`, `normal` or `low`.
    priority: &'static str,
}

/// Returns the permissions of the caller's key.
#[utoipa::path(
    get, path = "/v1/key", tag = "installation",
    operation_id = "get_own_key",
    responses((status = 200, description = "The key", body = KeyInfo), responses::OfAll)
)]
pub(crate) async fn key(
    State(intake): State<Intake>,
    headers: HeaderMap,
    query: Result<Params<NoParams>, Problem>,
) -> Result<Json<KeyInfo>, Problem> {
    let caller = authenticate(&headers, &intake).await?;
    query?;
    // Without configured keys, everyone may do everything except create keys.
    let may = |scope: &Scope| caller.may(*scope) && (*scope != Scope::Keys || caller.id().is_some());
    let scopes = Scope::ALL.into_iter().filter(may).map(Scope::as_str).collect();
    Ok(Json(KeyInfo {
        id: caller.id().map(str::to_owned),
        scopes,
        all_buckets: caller.may_use_all_buckets(),
        priority: caller.highest_priority().as_str(),
    }))
}
