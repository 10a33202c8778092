//! `/buckets/{b}/dead`: dead letters, grouped by reason.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::job::{DeadLetter, LetterGroups};
use crate::model::replay::Replay;
use crate::pages::dead_query::DeadQuery;
use crate::pages::done::Done;
use crate::pages::{dead_groups, replays};
use crate::parts::layout::{self, Page};
use crate::parts::{self, action, listing, numbers, when};
use crate::web::api::escaped;
use crate::web::identity::Visitor;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<DeadQuery>,
    Query(done): Query<Done>,
) -> Response {
    let path = format!("/buckets/{}/dead", escaped(&name));
    let query = wanted.page(wanted.cursor.as_deref());
    match page.api().get::<List<DeadLetter>>(&visitor, &format!("/v1{path}{query}")).await {
        Ok(letters) => {
            // The letters matter more than that replays can't be read.
            let replays = replays::read(&page, &visitor, &name).await.unwrap_or_default();
            let live = replays.iter().any(Replay::is_running).then(|| format!("/live{path}"));
            // Counted once, not again with each page of the list.
            let groups = match wanted.cursor {
                None => dead_groups::read(&page, &visitor, &path, &wanted).await,
                Some(_) => None,
            };
            let body = html! {
                (listing::heading(&name, &html! { "Dead letters" }, "/dead"))
                (done.show_of(&wanted.described()))
                (parts::replays::of(&visitor, &path, &replays))
                (list(&visitor, &path, &wanted, &letters, groups.as_ref()))
            };
            let title = format!("Dead letters of {name}");
            layout::show(&visitor, &Page { title: &title, section: "/", live: live.as_deref(), body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn list(
    visitor: &Visitor,
    path: &str,
    wanted: &DeadQuery,
    letters: &List<DeadLetter>,
    groups: Option<&LetterGroups>,
) -> Markup {
    if letters.items.is_empty() && letters.next.is_none() {
        return html! {
            section.state {
                @if wanted.is_filtered() { p { "No dead letter matches. " a href=(path) { "Show all" } } }
                @else {
                    p { "No dead letters." }
                    p.faint {
                        "A job is dead-lettered when the upstream refuses it permanently, or all its attempts have \
                            failed. "
                        "It can then be inspected, edited, replayed, exported or deleted here."
                    }
                }
            }
        };
    }
    let shown = numbers::counted(letters.items.len() as u64, "dead letter", "dead letters");
    let next = letters.next.as_deref().map(|cursor| wanted.page(Some(cursor)));
    html! {
        @if wanted.is_filtered() { p { "Filtered: " (wanted.described()) ". " a href=(path) { "Show all" } } }
        @if let Some(groups) = groups { (dead_groups::list(visitor, path, wanted, groups)) }
        div.toolbar {
            @if visitor.may("operate") { (replay_form(visitor, path, wanted)) }
            a.button href={ (path) "/export" (wanted.page(None)) } download { "Export as NDJSON" }
        }
        div.scroll tabindex="0" role="region" aria-label="Dead letters" { table {
            (listing::head(&["id", "died", "status", "reason", "#attempts", "caller"]))
            tbody { @for letter in &letters.items { (row(path, letter)) } }
        } }
        (listing::next(path, next.as_deref().unwrap_or_default(), &shown))
    }
}

fn replay_form(visitor: &Visitor, path: &str, wanted: &DeadQuery) -> Markup {
    html! {
        form.inline method="post" action={ (path) "/replay" } {
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

fn row(path: &str, letter: &DeadLetter) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ (path) "/" (letter.id) } { code { (letter.id) } } }
            td { (when::ago(&letter.died_at)) }
            td { (letter.outcome.status.map_or_else(|| "–".to_owned(), |status| status.to_string())) }
            td { (letter.outcome.reason.as_deref().unwrap_or("–")) }
            td.number { (letter.outcome.attempts) }
            td { (letter.caller.as_deref().unwrap_or("–")) }
        }
    }
}
