//! The request to the upstream: payload, method, path and headers, and a command that submits it again.

use maud::{Markup, html};

use super::{Payload, hidden, of};
use crate::model::job::JobPayload;
use crate::parts::{card, curl, listing, teach};
use crate::web::identity::Visitor;
use dripfeed_job::redaction::{MASK, Redaction};

/// Masks only headers. The payload is masked when it is shown, with a note.
pub(crate) fn masked(redaction: &Redaction, mut job: JobPayload) -> JobPayload {
    let headers = job.headers.iter_mut().flatten();
    for header in headers.filter(|header| redaction.masks_header(&header.name)) {
        MASK.clone_into(&mut header.value);
    }
    job
}

/// The card. `job` has masked headers, and is `None` if the payload no longer exists.
pub(crate) fn section(redaction: &Redaction, visitor: &Visitor, bucket: &str, job: Option<&JobPayload>) -> Markup {
    html! {
        section.card {
            h2 { "Payload" }
            @if !visitor.may("inspect") { (hidden()) }
            @else if let Some(job) = job { (shown(redaction, visitor, bucket, job)) }
            @else { p.faint { "The job has ended meanwhile: reload the page." } }
        }
    }
}

fn shown(redaction: &Redaction, visitor: &Visitor, bucket: &str, job: &JobPayload) -> Markup {
    let payload = Payload {
        text: job.body.as_deref().or(job.body_base64.as_deref()),
        is_base64: job.body_base64.is_some(),
        content_type: job.content_type.as_deref(),
        truncated: job.truncated,
    };
    html! {
        (of(redaction, &payload))
        (call(job))
        @if let Some(command) = curl::of(redaction, visitor, bucket, job) {
            h3 { "Submit it as a new job" }
            (teach::command(&command))
        }
    }
}

/// The parts of the call that override the bucket's.
fn call(job: &JobPayload) -> Markup {
    html! {
        @if job.method.is_some() || job.path.is_some() {
            dl.numbers {
                @if let Some(method) = &job.method { (card::text("method", method)) }
                @if let Some(path) = &job.path { (card::text("path", path)) }
            }
        }
        @if let Some(headers) = job.headers.as_ref().filter(|headers| !headers.is_empty()) {
            h3 { "Forwarded headers" }
            div.scroll tabindex="0" role="region" aria-label="Forwarded headers" { table {
                (listing::head(&["name", "value"]))
                tbody { @for header in headers {
                    tr { th scope="row" { code { (header.name) } } td { code { (header.value) } } }
                } }
            } }
        }
    }
}
