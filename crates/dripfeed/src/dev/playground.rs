//! Controls the echo upstream through the intake: `GET` and `PUT /v1/dev/upstream`. Only in `dripfeed dev`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use dripfeed_auth::{ApiKeys, Scope, is_same_origin};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

use super::echo_mode::{EchoMode, EchoModes};

#[derive(Clone)]
struct Playground {
    keys: Arc<ApiKeys>,
    modes: EchoModes,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Upstream {
    mode: EchoMode,
}

/// The routes; changes take a key with the scope `operate`, where keys are configured.
pub(super) fn router(keys: Arc<ApiKeys>, modes: EchoModes) -> Router {
    Router::new().route("/v1/dev/upstream", get(show).put(change)).with_state(Playground { keys, modes })
}

async fn show(State(playground): State<Playground>, headers: HeaderMap) -> Response {
    if !playground.allows(&headers, Scope::Read) {
        return StatusCode::FORBIDDEN.into_response();
    }
    Json(Upstream { mode: playground.modes.now() }).into_response()
}

async fn change(
    State(playground): State<Playground>,
    headers: HeaderMap,
    Json(Upstream { mode }): Json<Upstream>,
) -> Response {
    if !playground.allows(&headers, Scope::Operate) || !is_same_origin(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    playground.modes.set(mode);
    Json(Upstream { mode }).into_response()
}

impl Playground {
    fn allows(&self, headers: &HeaderMap, scope: Scope) -> bool {
        self.keys.caller(headers).is_some_and(|caller| caller.may(scope))
    }
}
