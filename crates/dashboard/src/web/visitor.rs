//! Turns the session of a request into a visitor.

use axum::extract::FromRequestParts;
use axum::response::Response;
use dripfeed_http::Peer;
use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::dashboard::Dashboard;
use crate::parts::layout;
use crate::web::answer;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::{Permissions, Visitor};

/// The visitor with this key, or without one.
///
/// # Errors
/// When the API doesn't accept it.
pub(crate) async fn identify(page: &Dashboard, key: Option<&str>, parts: &Parts) -> Result<Visitor, Failure> {
    let invalid = |_| Failure::new(StatusCode::UNAUTHORIZED, "Unknown key", "a key has only visible ASCII characters");
    let mut visitor = Visitor {
        key: key.map(HeaderValue::try_from).transpose().map_err(invalid)?,
        peer: parts.extensions.get::<Peer>().copied(),
        session_end: None,
        form_token: page.sessions().form_token(&parts.headers),
        is_submitting: parts.method == Method::POST,
        permissions: Permissions::default(),
        api: page.api_place().seen_by(parts),
    };
    visitor.permissions = page.api().get(&visitor, "/v1/key").await?;
    Ok(visitor)
}

impl FromRequestParts<Dashboard> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, page: &Dashboard) -> Result<Self, Response> {
        recognise(parts, page).await.map_err(|failure| match failure.status {
            StatusCode::UNAUTHORIZED if wants_page(&parts.headers) => answer::see_other(&sign_in(parts)),
            _ => layout::failed(None, &failure),
        })
    }
}

/// The visitor of a request, by its session.
///
/// # Errors
/// When no session is valid, or the API refuses its key.
pub(crate) async fn recognise(parts: &Parts, page: &Dashboard) -> Result<Visitor, Failure> {
    let session = page.sessions().session(&parts.headers);
    let mut visitor = identify(page, session.as_ref().map(|session| session.key.as_str()), parts).await?;
    let needs_session = visitor.permissions.id.is_some();
    visitor.session_end = session.filter(|_| needs_session).map(|session| session.end);
    Ok(visitor)
}

/// Whether the request is for a page. Requests of a page's script aren't, and would take another page for their answer.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    accepted.any(|accept| accept.contains("text/html"))
}

/// The page to sign in, which leads back to the requested page, but not to an action.
fn sign_in(parts: &Parts) -> String {
    match parts.uri.path_and_query().filter(|path| parts.method == Method::GET && path.as_str() != "/") {
        Some(path) => format!("/sign-in?next={}", escaped(path.as_str())),
        None => "/sign-in".to_owned(),
    }
}
