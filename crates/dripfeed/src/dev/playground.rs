//! Controls the echo upstream through the intake: `GET` and `PUT /v1/dev/upstream`. Only in `dripfeed dev`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use dripfeed_auth::{ApiKeys, Scope, is_same_origin};
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;

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

/// Returns the routes. If API keys are configured, changes need one with the scope `operate`.
pub(super) fn router(keys: Arc<ApiKeys>, modes: EchoModes) -> Router {
    Router::new().route("/v1/dev/upstream", get(show).put(change)).with_state(Playground { keys, modes })
}

async fn show(State(playground): State<Playground>, headers: HeaderMap) -> Response {
    if !playground.allows(&headers, Scope::Read) {
        return forbidden();
    }
    Json(Upstream { mode: playground.modes.now() }).into_response()
}

async fn change(
    State(playground): State<Playground>,
    headers: HeaderMap,
    Json(Upstream { mode }): Json<Upstream>,
) -> Response {
    if !playground.allows(&headers, Scope::Operate) || !is_same_origin(&headers) {
        return forbidden();
    }
    playground.modes.set(mode);
    Json(Upstream { mode }).into_response()
}

/// Returns a problem document, which the dashboard shows.
fn forbidden() -> Response {
    let detail = "the upstream's mode takes a key with the scope `read`, and to change it `operate`";
    let problem = json!({ "type": "about:blank", "title": "Forbidden", "status": 403, "detail": detail });
    let content_type = [(header::CONTENT_TYPE, "application/problem+json")];
    (StatusCode::FORBIDDEN, content_type, problem.to_string()).into_response()
}

impl Playground {
    fn allows(&self, headers: &HeaderMap, scope: Scope) -> bool {
        self.keys.caller(headers).is_some_and(|caller| caller.may(scope))
    }
}
