//! The timeline of a job: its attempts, and its outcome.

use dripfeed_job::redaction::Redaction;
use maud::{Markup, html};

use super::own_letter;
use crate::dashboard::Dashboard;
use crate::model::job::{FailedAttempt, Job};
use crate::pages::jobs::label;
use crate::parts::payload::{self, Payload};
use crate::parts::{card, numbers, when};
use crate::web::identity::Visitor;

/// The id of this part of the page.
pub(super) const TIMELINE: &str = "timeline";

pub(super) async fn timeline(page: &Dashboard, visitor: &Visitor, name: &str, job: &Job) -> Markup {
    let letter = if job.state == "dead" { own_letter::path(page, visitor, name, &job.id).await } else { None };
    html! {
        section.card id=(TIMELINE) data-calm {
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
            @if let Some(path) = letter { p { a.button href=(path) { "Show the dead letter" } } }
        }
    }
}

/// Whether all attempts are listed as failed ones.
fn all_failed(job: &Job) -> bool {
    usize::try_from(job.attempts).is_ok_and(|attempts| attempts == job.failed_attempts.len())
}

/// A note if only the latest failed attempts are kept.
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
