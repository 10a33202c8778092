//! Turns the session of a request into a visitor.

use axum::extract::FromRequestParts;
use axum::response::Response;
use dripfeed_http::Peer;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

use crate::dashboard::Dashboard;
use crate::parts::layout;
use crate::web::answer;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::{Permissions, Visitor};

/// Signed in by this key, or by none.
///
/// # Errors
/// When the API doesn't accept it.
pub(crate) async fn identify(page: &Dashboard, key: Option<&str>, parts: &Parts) -> Result<Visitor, Failure> {
    let invalid = |_| Failure::new(StatusCode::UNAUTHORIZED, "Unknown key", "a key has only visible ASCII characters");
    let mut visitor = Visitor {
        key: key.map(HeaderValue::try_from).transpose().map_err(invalid)?,
        peer: parts.extensions.get::<Peer>().copied(),
        form_token: page.sessions().form_token(&parts.headers),
        permissions: Permissions::default(),
    };
    visitor.permissions = page.api().get(&visitor, "/v1/key").await?;
    Ok(visitor)
}

impl FromRequestParts<Dashboard> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, page: &Dashboard) -> Result<Self, Response> {
        let key = page.sessions().key(&parts.headers);
        identify(page, key.as_deref(), parts).await.map_err(|failure| match failure.status {
            StatusCode::UNAUTHORIZED => answer::see_other(&sign_in(&parts.uri, &parts.headers)),
            _ => layout::failed(None, &failure),
        })
    }
}

/// Only a page is worth coming back to.
fn sign_in(uri: &Uri, headers: &HeaderMap) -> String {
    let is_page = headers.get(http::header::ACCEPT).is_some_and(|accept| accept.as_bytes().starts_with(b"text/html"));
    match uri.path_and_query().filter(|path| is_page && path.as_str() != "/") {
        Some(path) => format!("/sign-in?next={}", escaped(path.as_str())),
        None => "/sign-in".to_owned(),
    }
}
