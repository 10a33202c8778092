//! `/sign-in` and `/sign-out`.

use axum::extract::{Query, Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{StatusCode, header};
use maud::{Markup, html};
use serde::Deserialize;

use crate::dashboard::Dashboard;
use crate::parts::layout::{self, Page};
use crate::web::answer;
use crate::web::failure::Failure;
use crate::web::form::{self, Action};
use crate::web::identity::Visitor;
use crate::web::visitor::identify;

#[derive(Default, Deserialize)]
pub(crate) struct Next {
    next: Option<String>,
}

impl Next {
    /// The path to continue at, only within the dashboard.
    fn path(&self) -> &str {
        // Browsers read `\` as `/`, and drop tabs and line breaks.
        let is_misread = |c: char| c == '\\' || c.is_control();
        let is_ours = |path: &&str| path.starts_with('/') && !path.starts_with("//") && !path.contains(is_misread);
        self.next.as_deref().filter(is_ours).unwrap_or("/")
    }
}

/// The form. A visitor who is signed in already, or needs no key, is redirected.
pub(crate) async fn show(
    State(page): State<Dashboard>,
    Query(next): Query<Next>,
    visitor: Result<Visitor, Response>,
) -> Response {
    drop(page);
    match visitor {
        Ok(_) => answer::see_other(next.path()),
        Err(_) => form(&next, None),
    }
}

fn form(next: &Next, failure: Option<&Failure>) -> Response {
    let status = failure.map_or(StatusCode::OK, |failure| failure.status);
    answer::page(
        status,
        layout::document(None, &Page { title: "Sign in", section: "", live: None, body: body(next, failure) }),
    )
}

fn body(next: &Next, failure: Option<&Failure>) -> Markup {
    html! {
        section.sign-in.card {
            h1 { "Sign in" }
            p.faint { "With an API key, which has the same permissions here as in the API." }
            @if let Some(Failure { title, detail, .. }) = failure {
                p.note data-mood="bad" role="alert" { strong { (title) } ". " (detail) }
            }
            form method="post" action="/sign-in" {
                input type="hidden" name="next" value=(next.path());
                label for="key" { "Key" }
                input #key name="key" type="password" required autocomplete="current-password" autofocus;
                button.primary type="submit" { "Sign in" }
            }
        }
    }
}

pub(crate) async fn sign_in(State(page): State<Dashboard>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if !form::is_of_our_page(&parts.headers) {
        return layout::failed(None, &form::forged());
    }
    match form::fields(body).await {
        Ok(fields) => {
            let next = Next { next: fields.get("next").cloned() };
            let key = fields.get("key").map_or("", |key| key.trim());
            begin(&page, &parts, key, &next).await
        }
        Err(failure) => form(&Next::default(), Some(&failure)),
    }
}

async fn begin(page: &Dashboard, from: &Parts, key: &str, next: &Next) -> Response {
    if let Err(failure) = identify(page, Some(key), from).await {
        let unknown = || Failure::new(failure.status, "This key isn't known", "Check it, or ask for another one.");
        let shown = if failure.status == StatusCode::UNAUTHORIZED { unknown() } else { failure.clone() };
        return form(next, Some(&shown));
    }
    let mut response = answer::see_other(next.path());
    response.headers_mut().extend(page.sessions().begin(key).map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

pub(crate) async fn sign_out(State(page): State<Dashboard>, _: Action) -> Response {
    let mut response = answer::see_other("/sign-in");
    response.headers_mut().extend(page.sessions().end().map(|cookie| (header::SET_COOKIE, cookie)));
    response
}
