//! `GET /openapi.json`.

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::response::IntoResponse;
use http::{HeaderValue, header};
use utoipa::openapi::OpenApi;

use crate::problem::Problem;

static DESCRIPTION: OnceLock<Option<Bytes>> = OnceLock::new();

/// Serves the description as JSON. It is built at the first request, because that takes milliseconds and, meanwhile,
/// megabytes of memory.
pub(crate) async fn serve(describe: fn() -> OpenApi) -> Result<impl IntoResponse, Problem> {
    let json = move || describe().to_json().ok().map(Bytes::from);
    let made = tokio::task::spawn_blocking(move || DESCRIPTION.get_or_init(json).clone()).await;
    let json = made.ok().flatten().ok_or_else(Problem::internal)?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], json))
}
