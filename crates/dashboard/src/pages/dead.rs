//! `/buckets/{b}/dead`: dead letters, grouped by why they died.

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::job::{DeadLetter, Replayed};
use crate::pages::done::{Done, after};
use crate::parts::layout::{self, Page};
use crate::parts::{action, listing, numbers, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

#[derive(Clone, Default, Deserialize)]
pub(crate) struct DeadQuery {
    reason: Option<String>,
    status: Option<String>,
    caller: Option<String>,
    cursor: Option<String>,
}

impl DeadQuery {
    pub(crate) fn pairs(&self) -> [(&'static str, Option<&str>); 3] {
        [("reason", self.reason.as_deref()), ("status", self.status.as_deref()), ("caller", self.caller.as_deref())]
    }

    /// Of a page of the list.
    pub(crate) fn page(&self, cursor: Option<&str>) -> String {
        let [reason, status, caller] = self.pairs();
        listing::query(&[reason, status, caller, ("cursor", cursor)])
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
            let body = html! {
                h1 { "Dead letters of " (name) }
                (listing::tabs(&name, "/dead"))
                (done.show())
                (list(&visitor, &path, &wanted, &letters))
            };
            layout::show(&visitor, &Page { title: &format!("Dead letters of {name}"), section: "/", live: None, body })
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
                @let query = listing::query(&[("reason", Some(*reason)), ("status", status.as_deref())]);
                li {
                    a href={ (path) (query) } { strong { (status.as_deref().unwrap_or("no answer")) } " " (reason) }
                    span.count { (numbers::count(*count)) @if letters.next.is_some() { " of this page" } }
                    @if visitor.may("operate") { (group_actions(visitor, path, reason, status.as_deref())) }
                }
            }
        }
    }
}

fn group_actions(visitor: &Visitor, path: &str, reason: &str, status: Option<&str>) -> Markup {
    html! {
        form.inline method="post" action={ (path) "/replay" } {
            (action::token(visitor))
            input type="hidden" name="reason" value=(reason);
            input type="hidden" name="status" value=(status.unwrap_or_default());
            button type="submit" { "Replay these" }
            button type="submit" formaction={ (path) "/delete" } { "Delete these" }
        }
    }
}

fn replay_form(visitor: &Visitor, path: &str, wanted: &DeadQuery) -> Markup {
    html! {
        form.inline method="post" action={ (path) "/replay" } {
            (action::token(visitor))
            @for (name, value) in wanted.pairs() { input type="hidden" name=(name) value=(value.unwrap_or_default()); }
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

pub(crate) async fn replay(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, replayed(&page, &action, &name).await)
}

async fn replayed(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    let mut filter = action.members(&["reason", "caller", "rate"]);
    if let Some(status) = action.field("status").and_then(|status| status.parse::<u16>().ok()) {
        filter.insert("status".to_owned(), json!(status));
    }
    let path = format!("/buckets/{}/dead", escaped(name));
    let filter = Value::Object(filter);
    let body = page.api().call(&action.visitor, Method::POST, &format!("/v1{path}/replay"), Some(&filter)).await?;
    let Replayed { replayed, left } = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    Ok(format!("{path}?done=replayed&count={replayed}&left={left}"))
}

/// Deletes the letters of a group that its first page has.
pub(crate) async fn delete(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, deleted(&page, &action, &name).await)
}

async fn deleted(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    let path = format!("/buckets/{}/dead", escaped(name));
    let wanted = |name| action.field(name).map(str::to_owned);
    let query = DeadQuery { reason: wanted("reason"), status: wanted("status"), ..DeadQuery::default() }.page(None);
    let letters: List<DeadLetter> = page.api().get(&action.visitor, &format!("/v1{path}{query}")).await?;
    let mut count = 0;
    for letter in &letters.items {
        page.api().call(&action.visitor, Method::DELETE, &format!("/v1{path}/{}", letter.id), None).await?;
        count += 1;
    }
    Ok(format!("{path}?done=deleted&count={count}"))
}
