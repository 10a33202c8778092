//! Dead letters of one reason and status, which can be replayed and deleted together.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::job::{DeadLetter, Deleted};
use crate::pages::dead_query::DeadQuery;
use crate::pages::done::after;
use crate::parts::{action, numbers};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// Letters of this page by status and reason, the most first.
pub(crate) fn of_page(visitor: &Visitor, path: &str, letters: &List<DeadLetter>) -> Markup {
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
                    @if visitor.may("operate") { (actions(visitor, path, &group)) }
                }
            }
        }
    }
}

fn actions(visitor: &Visitor, path: &str, group: &DeadQuery) -> Markup {
    let fields = html! {
        p { "Permanently deletes all letters with this reason and status, including those on other pages." }
        (group.fields())
    };
    html! {
        form.inline method="post" action={ (path) "/replay" } {
            (action::token(visitor))
            (group.fields())
            button type="submit" { "Replay these" }
        }
        (action::confirmed_with(visitor, &format!("{path}/delete"), "Delete these…", "delete", &fields))
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
