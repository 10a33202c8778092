//! Controls the echo upstream through the intake: `GET` and `PUT /v1/dev/upstream`. Only in `dripfeed dev`.

use axum::body::Bytes;
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use dripfeed_auth::{Operate, Read};
use dripfeed_intake::{Intake, Problem, read_json};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi;
use utoipa::{OpenApi as _, ToSchema};

use super::echo_mode::{EchoMode, EchoModes};

#[derive(Clone)]
struct Playground {
    intake: Intake,
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

/// Returns the routes.
pub(super) fn router(intake: Intake, modes: EchoModes) -> Router {
    Router::new().route("/v1/dev/upstream", get(show).put(change)).with_state(Playground { intake, modes })
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
async fn show(State(playground): State<Playground>, headers: HeaderMap) -> Result<Json<Upstream>, Problem> {
    playground.intake.authorize::<Read>(&headers).await?;
    Ok(Json(Upstream { mode: playground.modes.now() }))
}

/// Changes the mode of the echo upstream, for all calls from now on.
///
/// Needs the scope `operate`. Only in `dripfeed dev`.
#[utoipa::path(
    put, path = "/v1/dev/upstream", tag = "dev", operation_id = "change_dev_upstream",
    request_body = Upstream,
    responses(
        (status = 200, description = "The new mode", body = Upstream),
        (status = 400, description = "`bad_json`"),
        (status = 401, description = "`unauthenticated`"), (status = 403, description = "`forbidden`"),
        (status = 422, description = "`bad_member`"),
    )
)]
async fn change(
    State(playground): State<Playground>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Upstream>, Problem> {
    let caller = playground.intake.authorize::<Operate>(&headers).await?;
    let Upstream { mode } = read_json(&body)?;
    let before = playground.modes.now();
    playground.modes.set(mode);
    tracing::info!(key = caller.id(), action = "upstream", ?before, after = ?mode, "audit");
    Ok(Json(Upstream { mode }))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_routes_are_described() {
        let described = serde_json::to_value(description()).unwrap();
        let path = &described["paths"]["/v1/dev/upstream"];
        assert!(path["get"]["description"].as_str().unwrap().contains("`read`"), "{path}");
        assert!(path["put"]["description"].as_str().unwrap().contains("`operate`"), "{path}");
        assert_eq!(described["components"]["schemas"]["EchoMode"]["enum"][1], "slow", "{described}");
    }
}
