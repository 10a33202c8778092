//! `/buckets/{b}/jobs/{id}`: one job and its outcome.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::job::{FailedAttempt, Job, Outcome};
use crate::pages::done::{Done, after};
use crate::pages::jobs::label;
use crate::parts::layout::{self, Page};
use crate::parts::payload::{self, Payload, request};
use crate::parts::{action, card, listing, numbers, when};
use crate::web::api::escaped;
use crate::web::form::Action;
use crate::web::identity::Visitor;
use dripfeed_job::redaction::Redaction;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path((name, id)): Path<(String, String)>,
    Query(done): Query<Done>,
) -> Response {
    // Only where it is shown: it may be large.
    let payload = if visitor.may("inspect") { "?payload=true" } else { "" };
    let path = format!("/v1/buckets/{}/jobs/{}{payload}", escaped(&name), escaped(&id));
    match page.api().get::<Job>(&visitor, &path).await {
        Ok(job) => {
            let payload = job.payload.map(|payload| request::masked(page.redaction(), payload));
            let job = Job { payload, ..job };
            let body = body(&page, &visitor, &name, &job, &done);
            layout::show(&visitor, &Page { title: &format!("Job {id}"), section: "/", live: None, body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn body(page: &Dashboard, visitor: &Visitor, name: &str, job: &Job, done: &Done) -> Markup {
    let can_be_cancelled = matches!(job.state.as_str(), "waiting" | "parked");
    html! {
        (listing::heading(name, &html! { "Job " code { (job.id) } }, "/jobs"))
        (done.show())
        section.card {
        h2 { "Timeline" }
        ol.timeline {
            li { strong { "accepted" } " " (when::ago(&job.accepted_at)) }
            @if job.attempts > 0 && !all_failed(job) {
                li { strong { (numbers::attempts(job.attempts)) } (not_kept(job)) }
            }
            @for attempt in &job.failed_attempts { (failed(page.redaction(), attempt)) }
            @if let Some(due) = &job.due_at { li { strong { "due" } " " (when::ago(due)) } }
            @if let Some(consumer) = &job.consumer { li { strong { "in flight" } " at " code { (consumer) } } }
            @match &job.outcome {
                Some(outcome) => li data-mood=(mood(&outcome.result)) {
                    strong { (outcome.result) } " " (when::ago(&outcome.settled_at))
                    @if let Some(reason) = &outcome.reason { ": " (reason) }
                },
                None => li { strong { (label(&job.state)) } " now" },
            }
        }
        dl.numbers {
            (card::number("caller", &html! { (job.caller.as_deref().unwrap_or("none")) }))
            @if let Some(died) = &job.replay_of { (card::number("edited from", &html! { code { (died) } })) }
        }
        @if job.state == "dead" {
            p { a.button href={ "/buckets/" (name) "/dead/" (job.id) } { "Show the dead letter" } }
        }
        }
        @if can_be_cancelled && visitor.may("operate") {
            @let path = format!("/buckets/{name}/jobs/{}/cancel", job.id);
            div.actions { (action::button(visitor, &path, "Cancel the job")) }
        }
        @match &job.outcome {
            Some(outcome) => (answer(page, visitor, outcome)),
            None => (request::section(page.redaction(), visitor, name, job.payload.as_ref())),
        }
    }
}

/// Each attempt has its own line.
fn all_failed(job: &Job) -> bool {
    usize::try_from(job.attempts).is_ok_and(|attempts| attempts == job.failed_attempts.len())
}

/// Of failed attempts the latest are kept.
fn not_kept(job: &Job) -> Markup {
    let first = job.failed_attempts.first().map_or(1, |failed| failed.attempt);
    html! { @if first > 1 { ", the latest failed ones:" } }
}

fn failed(redaction: &Redaction, attempt: &FailedAttempt) -> Markup {
    html! {
        li data-mood="bad" {
            strong { "attempt " (attempt.attempt) " failed" } " " (when::ago(&attempt.started_at)) ": " (attempt.reason)
            br;
            span.faint {
                @if let Some(status) = attempt.status { "status " (status) ", " }
                "took " (numbers::latency(attempt.took_ms)) ", by " code { (attempt.replica) }
            }
            @if attempt.body.is_some() {
                details {
                    summary { "Response" }
                    (payload::of(redaction, &Payload {
                        text: attempt.body.as_deref(),
                        is_base64: attempt.base64,
                        content_type: attempt.content_type.as_deref(),
                        truncated: attempt.truncated,
                    }))
                }
            }
        }
    }
}

fn mood(result: &str) -> &'static str {
    match result {
        "delivered" => "good",
        "dead" => "bad",
        _ => "look",
    }
}

/// The upstream's last answer.
pub(crate) fn answer(page: &Dashboard, visitor: &Visitor, outcome: &Outcome) -> Markup {
    html! {
        section.card {
            h2 { "Upstream response" }
            p {
                @match outcome.status { Some(status) => { "status " strong { (status) } }, None => "no answer came" }
                ", after " (numbers::attempts(outcome.attempts))
            }
            @if visitor.may("inspect") {
                (payload::of(page.redaction(), &Payload {
                    text: outcome.body.as_deref(),
                    is_base64: outcome.base64,
                    content_type: outcome.content_type.as_deref(),
                    truncated: outcome.truncated,
                }))
            } @else { (payload::hidden()) }
        }
    }
}

pub(crate) async fn cancel(
    State(page): State<Dashboard>,
    Path((name, id)): Path<(String, String)>,
    action: Action,
) -> Response {
    let path = format!("/buckets/{}/jobs/{}", escaped(&name), escaped(&id));
    let cancelled = page.api().call(&action.visitor, Method::DELETE, &format!("/v1{path}"), None).await;
    after(&action.visitor, cancelled.map(|_| format!("{path}?done=cancelled")))
}
