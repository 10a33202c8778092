//! `/buckets/{b}/dead`: dead letters, grouped by reason.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::live;
use crate::live::list_refresh::ListRefresh;
use crate::live::watcher::Watcher;
use crate::model::List;
use crate::model::bucket::Frame;
use crate::model::job::{DeadLetter, LetterGroups};
use crate::pages::dead_query::DeadQuery;
use crate::pages::done::Done;
use crate::pages::{dead_groups, replays};
use crate::parts::layout::{self, Page};
use crate::parts::{self, action, listing, teach, when};
use crate::web::answer;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// The ids of parts of the page.
const REPLAYS: &str = "replays";
const LETTERS: &str = "letters";

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<DeadQuery>,
    Query(done): Query<Done>,
) -> Response {
    if let Some(id) = wanted.id() {
        return answer::see_other(&format!("{}/{}", path(&name), escaped(id)));
    }
    match letters(&page, &visitor, &name, &wanted).await {
        Ok(letters) => {
            // If replays can't be read, the letters are shown all the same.
            let replays = replays::read(&page, &visitor, &name).await.unwrap_or_default();
            let path = path(&name);
            let body = html! {
                (listing::heading(&name, &html! { "Dead letters" }, "/dead"))
                (done.show_of(&wanted.described()))
                (find_forms(&path, &wanted))
                (parts::replays::of(&visitor, &path, &replays))
                (letters)
            };
            let (title, live) = (format!("Dead letters of {name}"), format!("/live{path}{}", wanted.of_page()));
            layout::show(&visitor, &Page { title: &title, section: "/", live: Some(&live), body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn path(name: &str) -> String {
    format!("/buckets/{}/dead", escaped(name))
}

async fn letters(page: &Dashboard, visitor: &Visitor, name: &str, wanted: &DeadQuery) -> Result<Markup, Failure> {
    let path = path(name);
    let letters: List<DeadLetter> = page.api().get(visitor, &format!("/v1{path}{}", wanted.of_page())).await?;
    // Counted only for the first page of the list.
    let groups = match wanted.cursor {
        None => dead_groups::read(page, visitor, &path, wanted).await,
        Some(_) => None,
    };
    Ok(html! {
        div id=(LETTERS) data-calm { (list(visitor, &path, wanted, &letters, groups.as_ref())) }
    })
}

/// Live updates: the progress of replays, and the letters, which are read again when they may have changed.
pub(crate) async fn live(
    State(page): State<Dashboard>,
    Watcher(visitor): Watcher,
    Path(name): Path<String>,
    Query(wanted): Query<DeadQuery>,
) -> Response {
    let list_refresh = ListRefresh::default();
    let of = Arc::new((page.clone(), visitor.clone(), name.clone(), wanted));
    let draw = move |frame: Arc<Frame>| {
        let (of, list_refresh) = (Arc::clone(&of), list_refresh.clone());
        async move {
            let (page, visitor, name, wanted) = &*of;
            let Some(bucket) = frame.states.first() else { return live::without(&frame, name) };
            let replays = replays::read(page, visitor, name).await.ok();
            let replays = replays.map(|all| (REPLAYS.to_owned(), parts::replays::of(visitor, &path(name), &all)));
            let letters = list_refresh.with(&frame.at, bucket, letters(page, visitor, name, wanted)).await;
            Some(replays.into_iter().chain(letters.map(|letters| (LETTERS.to_owned(), letters))).collect())
        }
    };
    live::events(&page, &visitor, &[name], draw).await
}

fn list(
    visitor: &Visitor,
    path: &str,
    wanted: &DeadQuery,
    letters: &List<DeadLetter>,
    groups: Option<&LetterGroups>,
) -> Markup {
    if letters.items.is_empty() && letters.next.is_none() {
        return teach::empty(&nothing(visitor, path, wanted));
    }
    let (count, what) = (letters.items.len(), ("dead letter", "dead letters"));
    let shown = listing::shown(count, what, wanted.cursor.is_none(), letters.next.is_none());
    let next = letters.next.as_deref().map(|cursor| wanted.page(Some(cursor)));
    html! {
        @if wanted.is_filtered() { p { "Filtered: " (wanted.described()) ". " a href=(path) { "Show all" } } }
        @if let Some(groups) = groups { (dead_groups::list(visitor, path, wanted, groups)) }
        div.toolbar {
            @if visitor.may("operate") { (replay_form(visitor, path, wanted)) }
            a.button href={ (path) "/export" (wanted.page(None)) } download { "Export as NDJSON" }
        }
        @if visitor.may("operate") {
            p.faint { "Each replayed letter becomes a new job, within the rate limit and the capacity of the bucket." }
        }
        div.scroll tabindex="0" role="region" aria-label="Dead letters" { table {
            (listing::head(&["id", "died", "status", "reason", "#attempts", "caller"]))
            tbody { @for letter in &letters.items { (row(path, wanted, letter)) } }
        } }
        (listing::next(path, next.as_deref().unwrap_or_default(), &shown))
    }
}

fn nothing(visitor: &Visitor, path: &str, wanted: &DeadQuery) -> Markup {
    html! {
        @if wanted.is_filtered() { p { "No dead letter matches. " a href=(path) { "Show all" } } }
        @else {
            p { "No dead letters." }
            p.faint {
                "A job is dead-lettered when the upstream refuses it permanently, or all its attempts have failed. It \
                    can then be inspected, edited, replayed, exported or deleted here, and over the API:"
            }
            (teach::read(visitor, path))
        }
    }
}

/// Forms to find letters, as on the page of jobs.
fn find_forms(path: &str, wanted: &DeadQuery) -> Markup {
    html! {
        div.toolbar {
            (listing::id_form(path))
            form.find method="get" action=(path) {
                (listing::field("Caller", "caller", "any", wanted.caller.as_deref()))
                (listing::field("Reason with", "reason", "connect", wanted.reason.as_deref()))
                button type="submit" { "Find" }
            }
        }
    }
}

fn replay_form(visitor: &Visitor, path: &str, wanted: &DeadQuery) -> Markup {
    html! {
        form.inline method="post" action={ (path) "/replay" } data-here {
            (action::token(visitor))
            (wanted.fields())
            button type="submit" { @if wanted.is_filtered() { "Replay all that match" } @else { "Replay all" } }
            label {
                "at "
                input.short name="rate" placeholder="full rate" autocomplete="off" aria-label="rate, such as 10/s";
            }
        }
    }
}

fn row(path: &str, wanted: &DeadQuery, letter: &DeadLetter) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ (path) "/" (letter.id) } { code { (letter.id) } } }
            td { (when::ago(&letter.died_at)) }
            td { (letter.outcome.status.map_or_else(|| "–".to_owned(), |status| status.to_string())) }
            td { (letter.outcome.reason.as_deref().unwrap_or("–")) }
            td.number { (letter.outcome.attempts) }
            td {
                @match &letter.caller {
                    Some(caller) => a href={ (path) (wanted.of_caller(caller)) } { (caller) },
                    None => "–",
                }
            }
        }
    }
}
