//! Controls the echo upstream through the intake: `GET` and `PUT /v1/dev/upstream`. Only in `dripfeed dev`.

mod problem;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use dripfeed_auth::{ApiKeys, Caller, Scope, is_same_origin};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi;
use utoipa::{OpenApi as _, ToSchema};

use self::problem::Refusal;
use super::echo_mode::{EchoMode, EchoModes};

#[derive(Clone)]
struct Playground {
    keys: Arc<ApiKeys>,
    modes: EchoModes,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Upstream {
    mode: EchoMode,
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(show, change))]
struct Description;

/// Returns the routes. If API keys are configured, changes need one with the scope `operate`.
pub(super) fn router(keys: Arc<ApiKeys>, modes: EchoModes) -> Router {
    Router::new().route("/v1/dev/upstream", get(show).put(change)).with_state(Playground { keys, modes })
}

/// Describes the routes.
pub(super) fn description() -> OpenApi {
    Description::openapi()
}

/// Returns the mode of the echo upstream.
///
/// Needs the scope `read`. Only in `dripfeed dev`.
#[utoipa::path(
    get, path = "/v1/dev/upstream", tag = "dev", operation_id = "get_dev_upstream",
    responses(
        (status = 200, description = "The mode", body = Upstream),
        (status = 401, description = "`unauthenticated`"), (status = 403, description = "`forbidden`"),
    )
)]
async fn show(State(playground): State<Playground>, headers: HeaderMap) -> Result<Response, Refusal> {
    playground.allow(&headers, Scope::Read)?;
    Ok(Json(Upstream { mode: playground.modes.now() }).into_response())
}

/// Changes the mode of the echo upstream, for all calls from now on.
///
/// Needs the scope `operate`. Only in `dripfeed dev`.
#[utoipa::path(
    put, path = "/v1/dev/upstream", tag = "dev", operation_id = "change_dev_upstream",
    request_body = Upstream,
    responses(
        (status = 200, description = "The new mode", body = Upstream),
        (status = 401, description = "`unauthenticated`"), (status = 403, description = "`forbidden`"),
        (status = 422, description = "`bad_member`"),
    )
)]
async fn change(State(playground): State<Playground>, headers: HeaderMap, body: Bytes) -> Result<Response, Refusal> {
    let caller = playground.allow(&headers, Scope::Operate)?;
    if !is_same_origin(&headers) {
        return Err(Refusal::Forbidden("requests from pages of other origins are refused".to_owned()));
    }
    let Upstream { mode } = serde_json::from_slice(&body).map_err(|error| Refusal::BadMember(error.to_string()))?;
    let before = playground.modes.now();
    playground.modes.set(mode);
    tracing::info!(key = caller.id(), action = "upstream", ?before, after = ?mode, "audit");
    Ok(Json(Upstream { mode }).into_response())
}

impl Playground {
    fn allow(&self, headers: &HeaderMap, scope: Scope) -> Result<Caller, Refusal> {
        let caller = self.keys.caller(headers).ok_or(Refusal::Unauthenticated)?;
        if caller.may(scope) {
            return Ok(caller);
        }
        Err(Refusal::Forbidden(format!("this key lacks the scope `{}`", scope.as_str())))
    }
}
