//! Empty pages show a command to try, with the address of the intake.

use maud::{Markup, html};

use crate::web::identity::Visitor;

/// The argument with the visitor's key, from a variable of the shell. Empty: none is needed.
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

/// How to submit a job.
pub(crate) fn submit(visitor: &Visitor, bucket: &str) -> Markup {
    let (address, key) = (visitor.api.origin(), key(visitor));
    command(&format!("curl {address}/v1/buckets/{bucket}/jobs{key} --json '{{\"hello\":\"world\"}}'"))
}
