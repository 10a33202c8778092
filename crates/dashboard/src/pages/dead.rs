//! `/buckets/{b}/dead`: dead letters, grouped by why they died.

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::job::{DeadLetter, Deleted};
use crate::model::replay::Replay;
use crate::pages::done::{Done, after};
use crate::pages::replays;
use crate::parts::layout::{self, Page};
use crate::parts::{self, action, listing, numbers, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

#[derive(Clone, Default, Deserialize)]
pub(crate) struct DeadQuery {
    reason: Option<String>,
    exact_reason: Option<String>,
    status: Option<String>,
    caller: Option<String>,
    cursor: Option<String>,
}

impl DeadQuery {
    pub(crate) fn pairs(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("reason", self.reason.as_deref()),
            ("exact_reason", self.exact_reason.as_deref()),
            ("status", self.status.as_deref()),
            ("caller", self.caller.as_deref()),
        ]
    }

    /// Of a page of the list.
    pub(crate) fn page(&self, cursor: Option<&str>) -> String {
        let [reason, exact_reason, status, caller] = self.pairs();
        listing::query(&[reason, exact_reason, status, caller, ("cursor", cursor)])
    }

    fn group(reason: &str, status: Option<&str>) -> Self {
        Self {
            reason: Some(reason.to_owned()),
            exact_reason: Some("true".to_owned()),
            status: status.map(str::to_owned),
            ..Self::default()
        }
    }

    fn is_filtered(&self) -> bool {
        self.pairs().iter().any(|(_, value)| value.is_some_and(|value| !value.is_empty()))
    }
}

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
            let body = html! {
                h1 { "Dead letters of " (name) }
                (listing::tabs(&name, "/dead"))
                (done.show())
                (parts::replays::of(&visitor, &path, &replays))
                (list(&visitor, &path, &wanted, &letters))
            };
            let title = format!("Dead letters of {name}");
            layout::show(&visitor, &Page { title: &title, section: "/", live: live.as_deref(), body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn list(visitor: &Visitor, path: &str, wanted: &DeadQuery, letters: &List<DeadLetter>) -> Markup {
    if letters.items.is_empty() {
        return html! {
            section.state {
                @if wanted.is_filtered() { p { "No dead letter matches. " a href=(path) { "Show all" } } }
                @else { p { "No job has died: nothing to decide here." } }
            }
        };
    }
    let shown = numbers::counted(letters.items.len() as u64, "letter", "letters");
    let next = letters.next.as_deref().map(|cursor| wanted.page(Some(cursor)));
    html! {
        @if wanted.is_filtered() { p { "Filtered. " a href=(path) { "Show all" } } }
        (groups(visitor, path, letters))
        div.scroll tabindex="0" role="region" aria-label="Dead letters" { table {
            (listing::head(&["id", "died", "status", "reason", "#attempts", "caller"]))
            tbody { @for letter in &letters.items { (row(path, letter)) } }
        } }
        (listing::next(path, next.as_deref().unwrap_or_default(), &shown))
        div.actions {
            a.button href={ (path) "/export" (wanted.page(None)) } download { "Export as NDJSON" }
            @if visitor.may("operate") { (replay_form(visitor, path, wanted)) }
        }
    }
}

/// Letters of this page by status and reason, the most first.
fn groups(visitor: &Visitor, path: &str, letters: &List<DeadLetter>) -> Markup {
    let mut groups = BTreeMap::<(Option<u16>, &str), u64>::new();
    for DeadLetter { outcome, .. } in &letters.items {
        *groups.entry((outcome.status, outcome.reason.as_deref().unwrap_or_default())).or_default() += 1;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    html! {
        ul.groups {
            @for ((status, reason), count) in &groups {
                @let status = status.map(|status| status.to_string());
                @let group = DeadQuery::group(reason, status.as_deref());
                li {
                    a href={ (path) (group.page(None)) } {
                        strong { (status.as_deref().unwrap_or("no answer")) } " " (reason)
                    }
                    span.count { (numbers::count(*count)) @if letters.next.is_some() { " of this page" } }
                    @if visitor.may("operate") { (group_actions(visitor, path, &group)) }
                }
            }
        }
    }
}

fn group_actions(visitor: &Visitor, path: &str, group: &DeadQuery) -> Markup {
    let fields = html! {
        p { "Deletes all letters of this reason and status, also those that aren't on this page, for good." }
        (hidden(group))
    };
    html! {
        form.inline method="post" action={ (path) "/replay" } {
            (action::token(visitor))
            (hidden(group))
            button type="submit" { "Replay these" }
        }
        (action::confirmed_with(visitor, &format!("{path}/delete"), "Delete these…", "delete", &fields))
    }
}

fn hidden(wanted: &DeadQuery) -> Markup {
    html! {
        @for (name, value) in wanted.pairs() { input type="hidden" name=(name) value=(value.unwrap_or_default()); }
    }
}

fn replay_form(visitor: &Visitor, path: &str, wanted: &DeadQuery) -> Markup {
    html! {
        form.inline method="post" action={ (path) "/replay" } {
            (action::token(visitor))
            (hidden(wanted))
            label {
                "at "
                input.short name="rate" placeholder="its rate" autocomplete="off" aria-label="rate, such as 10/s";
            }
            button type="submit" { @if wanted.is_filtered() { "Replay all that match" } @else { "Replay all" } }
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

pub(crate) async fn delete(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, deleted(&page, &action, &name).await)
}

async fn deleted(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    action.confirms("delete")?;
    let path = format!("/buckets/{}/dead", escaped(name));
    let wanted = |name| action.field(name).map(str::to_owned);
    let [reason, exact_reason, status] = ["reason", "exact_reason", "status"].map(wanted);
    let query = DeadQuery { reason, exact_reason, status, ..DeadQuery::default() }.page(None);
    let body = page.api().call(&action.visitor, Method::DELETE, &format!("/v1{path}{query}"), None).await?;
    let Deleted { deleted } = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    Ok(format!("{path}?done=deleted&count={deleted}"))
}
