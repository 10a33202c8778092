//! `/` and `/problems/{code}`, the targets of links.

use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;

use axum::extract::Path;

use crate::problem::{Code, Problem};

const INDEX: &str = concat!(
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>dripfeed</title>",
    "<h1>dripfeed ",
    env!("CARGO_PKG_VERSION"),
    "</h1><ul>",
    "<li><a href=\"/docs/\">API explorer</a></li>",
    "<li><a href=\"/openapi.json\">API description (OpenAPI)</a></li>",
    "<li><a href=\"/v1/buckets\">buckets</a></li>",
    "<li><a href=\"/metrics\">metrics</a></li>",
    "</ul></html>\n"
);

pub(crate) async fn index() -> Html<&'static str> {
    Html(INDEX)
}

/// The target of a problem's `type`.
pub(crate) async fn about_problem(code: Option<Path<String>>) -> Response {
    let known = code.and_then(|Path(name)| Code::ALL.into_iter().find(|code| code.as_str() == name));
    let Some(code) = known else { return not_found().await.into_response() };
    let status = code.status();
    (StatusCode::OK, format!("{}: {}. Response status: {status}.\n", code.as_str(), code.title())).into_response()
}

pub(crate) async fn not_found() -> Problem {
    Problem::new(Code::NotFound, "see /docs for all routes")
}

pub(crate) async fn method_not_allowed() -> Problem {
    Problem::new(Code::MethodNotAllowed, "see `Allow` for the methods of this path")
}
