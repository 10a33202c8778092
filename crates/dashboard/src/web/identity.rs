//! The visitor and their permissions.

use dripfeed_auth::DRIPFEED_KEY;
use dripfeed_http::Peer;
use http::{HeaderValue, Request};
use serde::Deserialize;

use crate::web::api_address::ApiAddress;
use crate::web::session::SessionEnd;

#[derive(Clone, Default)]
pub(crate) struct Visitor {
    /// `None` without a session, or if no keys are configured.
    pub(crate) key: Option<HeaderValue>,
    /// Where the request came from, for limits by address.
    pub(crate) peer: Option<Peer>,
    /// `None` if no session is needed.
    pub(crate) session_end: Option<SessionEnd>,
    pub(crate) form_token: String,
    /// Whether the request submits a form. Its answer can't be reloaded.
    pub(crate) is_submitting: bool,
    pub(crate) permissions: Permissions,
    pub(crate) api: ApiAddress,
}

/// As `GET /v1/key` returns them.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Permissions {
    /// `None` if no keys are configured.
    pub(crate) id: Option<String>,
    scopes: Vec<String>,
    pub(crate) all_buckets: bool,
}

impl Permissions {
    pub(crate) fn may(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| own == scope)
    }
}

impl Visitor {
    pub(crate) fn may(&self, scope: &str) -> bool {
        self.permissions.may(scope)
    }

    /// Adds the visitor's key and address to a request to the API.
    pub(crate) fn sign<B>(&self, request: &mut Request<B>) {
        if let Some(key) = &self.key {
            request.headers_mut().insert(DRIPFEED_KEY, key.clone());
        }
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
    }
}
