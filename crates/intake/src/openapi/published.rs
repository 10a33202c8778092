//! `GET /openapi.json`.

use axum::response::IntoResponse;
use http::{HeaderValue, header};
use utoipa::openapi::OpenApi;

use crate::intake::Intake;
use crate::problem::Problem;

/// Serves the description as JSON. It is built at the first request, because that takes milliseconds and, meanwhile,
/// megabytes of memory.
pub(crate) async fn serve(intake: Intake, describe: fn() -> OpenApi) -> Result<impl IntoResponse, Problem> {
    let made = tokio::task::spawn_blocking(move || intake.description().json(describe)).await;
    let json = made.ok().flatten().ok_or_else(Problem::internal)?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], json))
}
