//! The schedules of a bucket: part of its page, and their actions.

use axum::extract::{Path, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::job::Receipt;
use crate::model::schedule::Schedule;
use crate::pages::done::after;
use crate::parts::{action, listing, numbers, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// The schedules; empty if there are none, or if they can't be read, so that the rest of the page is shown.
pub(super) async fn section(page: &Dashboard, visitor: &Visitor, bucket: &str) -> Markup {
    let path = format!("/buckets/{}/schedules", escaped(bucket));
    let Ok(list) = page.api().get::<List<Schedule>>(visitor, &format!("/v1{path}")).await else { return html! {} };
    html! {
        @if !list.items.is_empty() {
            section.card #schedules {
                h2 { "Schedules" }
                div.scroll tabindex="0" role="region" aria-label="Schedules" { table {
                    (listing::head(&["schedule", "when", "next", "last", "#missed", "#overlapped", "caller", "action"]))
                    tbody { @for schedule in &list.items { (row(visitor, bucket, &path, schedule)) } }
                } }
                @if list.next.is_some() {
                    p.faint { "There are more: " code { "dripfeed schedule " (bucket) " list" } }
                }
            }
        }
    }
}

fn row(visitor: &Visitor, bucket: &str, path: &str, schedule: &Schedule) -> Markup {
    let own = format!("{path}/{}", escaped(&schedule.id));
    html! {
        tr {
            th scope="row" { (schedule.id) }
            td { (timetable(schedule)) }
            td { (next(schedule)) }
            td { @match (&schedule.last_at, &schedule.last_job) {
                (Some(at), Some(job)) => a href={ "/buckets/" (bucket) "/jobs/" (job) } { (when::ago(at)) },
                _ => "–",
            } }
            td.number { (numbers::count(schedule.missed_ticks)) }
            td.number { (numbers::count(schedule.overlapped_ticks)) }
            td { (schedule.caller.as_deref().unwrap_or("–")) }
            td { @if visitor.may("operate") {
                @let (verb, label) = if schedule.paused { ("resume", "Resume") } else { ("pause", "Pause") };
                (action::button(visitor, &format!("{own}/{verb}"), label)) " "
                @if visitor.may("submit") { (action::button(visitor, &format!("{own}/run"), "Run now")) }
            } }
        }
    }
}

fn timetable(schedule: &Schedule) -> Markup {
    html! {
        @if let Some(cron) = &schedule.cron { code { (cron) } }
        @if let Some(zone) = &schedule.zone { " " (zone) }
        @if let Some(every) = &schedule.every { "every " (every) }
    }
}

/// The next tick, or why nothing is submitted.
fn next(schedule: &Schedule) -> Markup {
    html! {
        @if schedule.paused { span.badge data-mood="look" { "‖ paused" } }
        @else if !schedule.caller_may_submit {
            span.badge data-mood="bad" { "■ the key that defined it may no longer submit" }
        } @else {
            @match &schedule.next_at { Some(at) => (when::ago(at)), None => "no more" }
            @if let Some(refused) = &schedule.refused { br; span.faint { "refused: " (refused) } }
        }
    }
}

pub(crate) async fn switch(
    State(page): State<Dashboard>,
    Path((name, id, verb)): Path<(String, String, String)>,
    action: Action,
) -> Response {
    after(&action.visitor, switched(&page, &action, &name, &id, &verb).await)
}

async fn switched(page: &Dashboard, action: &Action, name: &str, id: &str, verb: &str) -> Result<String, Failure> {
    let (name, id) = (escaped(name), escaped(id));
    let call = |verb| format!("/v1/buckets/{name}/schedules/{id}/{verb}");
    let post = async |path: String| page.api().call(&action.visitor, Method::POST, &path, None).await;
    let done = match verb {
        "pause" => post(call("pause")).await.map(|_| "schedule-paused")?,
        "resume" => post(call("resume")).await.map(|_| "schedule-resumed")?,
        "run" => {
            let receipt = post(call("run")).await?;
            let Receipt { id } = serde_json::from_slice(&receipt).map_err(|_| Failure::unreadable())?;
            return Ok(format!("/buckets/{name}/jobs/{id}?done=run"));
        }
        _ => return Err(Failure::not_found()),
    };
    Ok(format!("/buckets/{name}?done={done}"))
}
