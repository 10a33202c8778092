//! The layout of every page.

pub(crate) mod detail;
pub(crate) mod picture;

use axum::response::Response;
use http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use self::picture::Picture;
use crate::parts::{action, when};
use crate::web::answer;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

const SECTIONS: [(&str, &str); 4] =
    [("/", "Buckets"), ("/services", "Services"), ("/redis", "Redis"), ("/audit", "Audit")];

const KEYS: [(&str, &str); 4] =
    [("?", "show keyboard shortcuts"), ("/", "search"), ("g", "go to all buckets"), ("Esc", "close, or leave a field")];
/// With the scope `operate`.
const PAUSE: (&str, &str) = ("p", "on the page of a bucket: pause or resume it");

/// A page.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// The path of its section.
    pub(crate) section: &'a str,
    /// The path of its live updates; `None` if it has none.
    pub(crate) live: Option<&'a str>,
    pub(crate) body: Markup,
}

pub(crate) fn show(visitor: &Visitor, page: &Page<'_>) -> Response {
    answer::page(StatusCode::OK, document(Some(visitor), page))
}

/// A refusal or an error as a page.
pub(crate) fn failed(visitor: Option<&Visitor>, failure: &Failure) -> Response {
    let body = html! {
        section.state role="alert" {
            (picture(failure.status).draw())
            h1 { (failure.title) }
            p { (detail::sentence(&failure.detail)) }
            @if failure.status.is_server_error() && visitor.is_some_and(|visitor| !visitor.is_submitting) {
                p.faint { "This page is tried again every 5 s." }
            }
            p.actions {
                // The browser keeps the typed values of the previous page.
                button type="button" data-back hidden { "Back" }
                a.button href="/" { "All buckets" }
            }
        }
    };
    let page = Page { title: &failure.title, section: "", live: None, body };
    answer::page(failure.status, document(visitor, &page))
}

pub(crate) fn document(visitor: Option<&Visitor>, page: &Page<'_>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · dripfeed" }
                link rel="icon" href="/assets/drop.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/page.css";
                script type="module" src="/assets/page.js" {}
            }
            body data-live=[page.live] data-now=(when::now()) {
                a.skip href="#main" { "Skip to the content" }
                (top(visitor, page))
                main #main { (page.body) }
                footer {
                    "dripfeed " (env!("CARGO_PKG_VERSION"))
                    @if let Some(visitor) = visitor { (links(visitor)) }
                    span hidden { " · " button.link type="button" data-keys { "keyboard shortcuts" } }
                    span hidden { " · " button.link type="button" data-zone { "show times in UTC" } }
                }
                (keys(visitor))
            }
        }
    }
}

fn links(visitor: &Visitor) -> Markup {
    html! {
        " · " a href=(visitor.api.link("/docs/")) { "API explorer" }
        " · " a href=(visitor.api.link("/openapi.json")) { "OpenAPI" }
        // If keys are configured, metrics need one; a session isn't sufficient.
        @if visitor.permissions.id.is_none() { " · " a href=(visitor.api.link("/metrics")) { "metrics" } }
    }
}

fn top(visitor: Option<&Visitor>, page: &Page<'_>) -> Markup {
    html! {
        header.top { div.inner {
            a.brand href="/" aria-label="dripfeed, all buckets" {
                svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true" {
                    path d="M8 1C8 1 3 7 3 10.2a5 5 0 0 0 10 0C13 7 8 1 8 1z" {}
                }
                span { "dripfeed" }
            }
            @if let Some(visitor) = visitor {
                nav aria-label="Sections" {
                    @for (path, name) in SECTIONS.iter().filter(|(path, _)| may_see(visitor, path)) {
                        a href=(path) aria-current=[(*path == page.section).then_some("page")] { (name) }
                    }
                    a href=(visitor.api.link("/docs/")) { "API" }
                }
            }
            div.status {
                @if page.live.is_some() {
                    span #live data-state="still" role="status" { span.dot {} span.word { "reload to update" } }
                } @else if visitor.is_some_and(|visitor| !visitor.is_submitting) {
                    a href="" { "reload to update" }
                }
                @if let Some(visitor) = visitor {
                    @if let Some(id) = &visitor.permissions.id {
                        span.who title="the id of your key" { "key " (id) }
                        (action::quiet(visitor, "/sign-out", "Sign out"))
                    }
                }
            }
        } }
    }
}

/// Redis is shown only to who may use all buckets, as its memory and commands are those of all.
fn may_see(visitor: &Visitor, section: &str) -> bool {
    section != "/redis" || visitor.permissions.all_buckets
}

fn keys(visitor: Option<&Visitor>) -> Markup {
    let pause = visitor.filter(|visitor| visitor.may("operate")).map(|_| &PAUSE);
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keyboard shortcuts" }
            dl.keys {
                @for (key, what) in KEYS.iter().chain(pause) {
                    dt { kbd { (key) } }
                    dd { (what) }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

const fn picture(status: StatusCode) -> Picture {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Picture::Forbidden,
        StatusCode::NOT_FOUND => Picture::Missing,
        _ => Picture::Broken,
    }
}
