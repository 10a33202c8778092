//! The description of one intake: of the API, and of the routes that were added to it.

use std::sync::OnceLock;

use axum::body::Bytes;
use utoipa::openapi::OpenApi;

#[derive(Default)]
pub(crate) struct Description {
    added: OnceLock<OpenApi>,
    json: OnceLock<Option<Bytes>>,
}

impl Description {
    /// Adds the description of more routes, before the first request.
    pub(crate) fn add(&self, added: OpenApi) {
        // Fails if there is one already.
        let _ = self.added.set(added);
    }

    /// Returns it as JSON, `None` if it can't be written. `describe`: describes the API.
    pub(crate) fn json(&self, describe: fn() -> OpenApi) -> Option<Bytes> {
        let make = || {
            let mut api = describe();
            if let Some(added) = self.added.get() {
                api.merge(added.clone());
            }
            api.to_json().ok().map(Bytes::from)
        };
        self.json.get_or_init(make).clone()
    }
}
