//! A key as the API returns it, without the secret.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use dripfeed_auth::{RunTimeKey, Scope};
use http::{HeaderValue, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request::preconditions::e_tag;
use crate::request::time;

/// A key created over the API.
#[derive(Serialize, ToSchema)]
#[schema(as = RunTimeKey)]
pub(crate) struct ShownKey {
    id: String,
    scopes: Vec<&'static str>,
    /// Names, patterns, or `*` for all.
    buckets: Vec<String>,
    services: Vec<String>,
    /// The highest priority of its jobs: `high`, `normal` or `low`.
    priority: &'static str,
    /// Expiry; the key stays listed for a day, and until the next key is created or changed. Null: never.
    #[schema(required)]
    not_after: Option<String>,
    expired: bool,
    /// The id of the key that created it or changed it last.
    changed_by: String,
    changed_at: String,
}

/// A key that was created or changed.
#[derive(Serialize, ToSchema)]
#[schema(as = MadeKey)]
pub(crate) struct MadeKey {
    #[serde(flatten)]
    pub(super) shown: ShownKey,
    /// The secret key, returned only once and not stored. Missing: the key is unchanged, or its `sha256` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
}

impl ShownKey {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn of(run_time: &RunTimeKey, now_ms: u64) -> Self {
        let key = &run_time.key;
        Self {
            id: key.id.clone(),
            scopes: key.scopes.iter().copied().map(Scope::as_str).collect(),
            buckets: key.buckets.to_strings(),
            services: key.services.to_strings(),
            priority: key.priority.as_str(),
            not_after: run_time.not_after_ms.map(time::show),
            expired: run_time.has_expired(now_ms),
            changed_by: run_time.by.clone(),
            changed_at: time::show(run_time.version / 1000),
        }
    }
}

/// The response, with the key's version. It mustn't be cached, because it may contain the secret.
pub(super) fn answer(run_time: &RunTimeKey, body: &impl Serialize) -> Response {
    let mut response = Json(body).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().extend([e_tag(run_time.version)]);
    response
}
