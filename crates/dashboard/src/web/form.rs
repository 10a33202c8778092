//! Parses a submitted form, and checks its origin and token.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::response::Response;
use dripfeed_auth::is_same_origin;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};

use crate::dashboard::Dashboard;
use crate::parts::action::TOKEN;
use crate::parts::layout;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

pub(crate) type Fields = BTreeMap<String, String>;

const MOST_FIELDS: usize = 64;

/// A submitted form.
pub(crate) struct Action {
    pub(crate) visitor: Visitor,
    pub(crate) fields: Fields,
}

impl Action {
    /// A field that isn't empty.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// The non-empty ones of these fields, as members of a request to the API.
    pub(crate) fn members(&self, names: &[&str]) -> Map<String, Value> {
        names.iter().filter_map(|name| Some(((*name).to_owned(), self.field(name)?.into()))).collect()
    }

    /// Checks the confirmation of an operator's action.
    ///
    /// # Errors
    /// When the visitor isn't an operator, or didn't type the word.
    pub(crate) fn confirms(&self, word: &str) -> Result<(), Failure> {
        if !self.visitor.may("operate") {
            return Err(Failure::new(
                StatusCode::FORBIDDEN,
                "Nothing was changed",
                "your key lacks the scope `operate`",
            ));
        }
        let detail = format!("type {word} to confirm");
        let refused = || Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Nothing was changed", &detail);
        if self.field("confirm") == Some(word) { Ok(()) } else { Err(refused()) }
    }
}

impl FromRequest<Dashboard> for Action {
    type Rejection = Response;

    async fn from_request(request: Request, page: &Dashboard) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let fail = |failure: &Failure| layout::failed(None, failure);
        if !is_of_our_page(&parts.headers) {
            return Err(fail(&forged()));
        }
        let visitor = Visitor::from_request_parts(&mut parts, page).await?;
        let headers = parts.headers;
        let fields = fields(body).await.map_err(|failure| fail(&failure))?;
        let token = fields.get(TOKEN).map_or("", String::as_str);
        if !page.sessions().is_form_token(&headers, token) {
            return Err(layout::failed(Some(&visitor), &forged()));
        }
        Ok(Self { visitor, fields })
    }
}

/// Parses the fields of a form, without checks. Invalid UTF-8 is replaced.
pub(crate) async fn fields(body: Body) -> Result<Fields, Failure> {
    let body = body.collect().await.map_err(|_| unreadable("reload the page and try again"))?.to_bytes();
    if body.iter().filter(|byte| **byte == b'&').count() >= MOST_FIELDS {
        return Err(unreadable(&format!("it has more than {MOST_FIELDS} fields")));
    }
    let bytes = body.len();
    let read = move || form_urlencoded::parse(&body).into_owned().collect();
    dripfeed_bucket::parse(bytes, read).await.map_err(|_| unreadable("try again"))
}

fn unreadable(detail: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "The form can't be read", detail)
}

/// Whether the request comes from a page of the dashboard, by the headers of browsers. Older browsers send none.
pub(crate) fn is_of_our_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
    site && is_same_origin(headers)
}

pub(crate) fn forged() -> Failure {
    let detail = "this form belongs to another session: reload the page and try again";
    Failure::new(StatusCode::FORBIDDEN, "Nothing was changed", detail)
}
