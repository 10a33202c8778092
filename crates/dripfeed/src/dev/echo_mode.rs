//! The mode of the echo upstream, which overrides the query of calls.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use http::{StatusCode, header};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const SLOW: Duration = Duration::from_secs(5);
const THROTTLED_S: u32 = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum EchoMode {
    /// The query of the call determines the response.
    #[default]
    Normal,
    Slow,
    Failing,
    Throttling,
    /// Connections break before the end of the response.
    Unreachable,
}

/// The current mode. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct EchoModes(Arc<Mutex<EchoMode>>);

impl EchoModes {
    pub(super) fn now(&self) -> EchoMode {
        *self.0.lock()
    }

    pub(super) fn set(&self, mode: EchoMode) {
        *self.0.lock() = mode;
    }

    /// Returns the response of the current mode, or `None` if the query of the call determines it.
    pub(super) async fn respond(&self) -> Option<Response> {
        match self.now() {
            EchoMode::Normal => None,
            EchoMode::Slow => {
                tokio::time::sleep(SLOW).await;
                None
            }
            EchoMode::Failing => Some((StatusCode::INTERNAL_SERVER_ERROR, "failing, as configured\n").into_response()),
            EchoMode::Throttling => {
                let retry_after = [(header::RETRY_AFTER, THROTTLED_S.to_string())];
                Some((StatusCode::TOO_MANY_REQUESTS, retry_after, "throttling, as configured\n").into_response())
            }
            EchoMode::Unreachable => {
                let cut = stream::iter([Err::<&str, _>(io::Error::from(io::ErrorKind::ConnectionReset))]);
                Some(Body::from_stream(cut).into_response())
            }
        }
    }
}
