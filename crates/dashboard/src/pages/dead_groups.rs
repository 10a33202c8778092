//! Groups of dead letters with one reason and status, which can be replayed and deleted together.

use axum::extract::{Path, State};
use axum::response::Response;
use dripfeed_job::LastStatus;
use http::Method;
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::job::{Deleted, LetterGroup, LetterGroups};
use crate::pages::dead_query::DeadQuery;
use crate::pages::done::after;
use crate::parts::{action, listing, numbers, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

const MOST_SHOWN: &str = "50";

/// Reads the groups of all matching letters. `None` if they can't be read now: then only the letters are shown.
pub(crate) async fn read(page: &Dashboard, visitor: &Visitor, path: &str, wanted: &DeadQuery) -> Option<LetterGroups> {
    let [reason, exact_reason, status, caller] = wanted.pairs();
    let query = listing::query(&[reason, exact_reason, status, caller, ("limit", Some(MOST_SHOWN))]);
    page.api().get(visitor, &format!("/v1{path}/groups{query}")).await.ok()
}

/// The groups, the largest first.
pub(crate) fn list(visitor: &Visitor, path: &str, wanted: &DeadQuery, groups: &LetterGroups) -> Markup {
    let counted: u64 = groups.items.iter().map(|group| group.letters).sum::<u64>() + groups.others;
    html! {
        ul.groups {
            @for LetterGroup { reason, status, letters, last_died_at } in &groups.items {
                @let status = status.map_or(LastStatus::NoAnswer, LastStatus::Code);
                @let group = wanted.group(reason, status);
                li {
                    a href={ (path) (group.page(None)) } {
                        strong { (status.described()) } " " (reason)
                    }
                    span.count { (numbers::count(*letters)) span.faint { ", the last " (when::ago(last_died_at)) } }
                    @if visitor.may("operate") { (actions(visitor, path, &group)) }
                }
            }
            @if groups.others > 0 { li { span { "Others" } span.count { (numbers::count(groups.others)) } } }
        }
        @if groups.next.is_some() {
            p.faint {
                "Counted: the oldest " (numbers::count(counted)) " dead letters"
                @if wanted.is_filtered() { " that match" }
                ". There are more."
            }
        }
    }
}

fn actions(visitor: &Visitor, path: &str, group: &DeadQuery) -> Markup {
    let fields = html! {
        p { "Permanently deletes all dead letters of this group: " (group.described()) "." }
        (group.fields())
    };
    html! {
        div.actions {
            form.inline method="post" action={ (path) "/replay" } data-here {
                (action::token(visitor))
                (group.fields())
                button type="submit" { "Replay these" }
            }
            (action::confirmed_with(visitor, &format!("{path}/delete"), "Delete these…", "delete", &fields))
        }
    }
}

pub(crate) async fn delete(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, deleted(&page, &action, &name).await)
}

async fn deleted(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    action.confirms("delete")?;
    let path = format!("/buckets/{}/dead", escaped(name));
    let group = DeadQuery::of_action(action);
    let query = group.page(None);
    let body = page.api().call(&action.visitor, Method::DELETE, &format!("/v1{path}{query}"), None).await?;
    let Deleted { deleted } = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    Ok(format!("{path}{}", group.after("deleted", Some(deleted))))
}
