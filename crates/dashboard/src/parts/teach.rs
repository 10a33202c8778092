//! Commands to try, with the address of the intake, for empty pages.

use maud::{Markup, html};

use crate::parts::layout::picture::Picture;
use crate::web::identity::Visitor;

/// The argument for the key, as a shell variable. Empty if none is needed.
pub(crate) fn key(visitor: &Visitor) -> &'static str {
    if visitor.permissions.id.is_some() { " -H \"Dripfeed-Key: $KEY\"" } else { "" }
}

/// A command that can be copied.
pub(crate) fn command(text: &str) -> Markup {
    html! {
        div.command {
            pre { code { (text) } }
            button type="button" data-copy=(text) hidden { "Copy" }
        }
    }
}

/// The command that reads what a page shows; `path` is that of the page, which the API has under `/v1`.
pub(crate) fn read(visitor: &Visitor, path: &str) -> Markup {
    command(&format!("curl {}/v1{path}{}", visitor.api.origin(), key(visitor)))
}

/// The command that submits a job.
pub(crate) fn submit(visitor: &Visitor, bucket: &str) -> Markup {
    let (address, key) = (visitor.api.origin(), key(visitor));
    command(&format!("curl {address}/v1/buckets/{bucket}/jobs{key} --json '{{\"hello\":\"world\"}}'"))
}

/// The id of the part with the command for a first job.
pub(crate) const FIRST_JOB: &str = "first-job";

/// The command that submits a first job to the bucket; `None` once there was one.
pub(crate) fn first_job(visitor: &Visitor, bucket: Option<&str>) -> Markup {
    html! {
        div id=(FIRST_JOB) {
            @if let Some(bucket) = bucket {
                section.card { h2 { "Submit a first job" } (submit(visitor, bucket)) }
            }
        }
    }
}

/// The place of a list that is empty, with a picture. `content` says why it is empty, or what fills it.
pub(crate) fn empty(content: &Markup) -> Markup {
    html! {
        section.state {
            (Picture::Empty.draw())
            (content)
        }
    }
}
