//! `GET /openapi.json`.

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::IntoResponse;
use http::{HeaderValue, header};
use utoipa::openapi::OpenApi;

use crate::intake::Intake;
use crate::problem::Problem;
use crate::router::openapi;

/// The description of an intake: of the API, and of the routes that were added to it.
#[derive(Default)]
pub(crate) struct Description {
    added: OnceLock<OpenApi>,
    json: OnceLock<Option<Bytes>>,
}

impl Intake {
    /// Adds the description of more routes, before the first request.
    pub fn describe(&self, added: OpenApi) {
        // Fails if there is one already.
        let _ = self.description().added.set(added);
    }
}

impl Description {
    fn json(&self) -> Option<Bytes> {
        let make = || {
            let mut api = openapi();
            if let Some(added) = self.added.get() {
                api.merge(added.clone());
            }
            api.to_json().ok().map(Bytes::from)
        };
        self.json.get_or_init(make).clone()
    }
}

/// Serves the description as JSON. It is built at the first request, because that takes milliseconds and, meanwhile,
/// megabytes of memory.
pub(crate) async fn serve(State(intake): State<Intake>) -> Result<impl IntoResponse, Problem> {
    let made = tokio::task::spawn_blocking(move || intake.description().json()).await;
    let json = made.ok().flatten().ok_or_else(Problem::internal)?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], json))
}
