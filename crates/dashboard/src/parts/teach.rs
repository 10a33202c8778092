//! Empty pages show a command to try, with the address of the intake.

use http::{HeaderMap, header};
use maud::{Markup, html};

use crate::web::identity::Visitor;

/// The address that the visitor's browser uses.
pub(crate) fn address(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:7180");
    let origin = headers.get(header::REFERER).and_then(|referer| referer.to_str().ok()).unwrap_or_default();
    let scheme = if origin.starts_with("https://") { "https" } else { "http" };
    format!("{scheme}://{host}")
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
pub(crate) fn submit(visitor: &Visitor, address: &str, bucket: &str) -> Markup {
    let key = if visitor.permissions.id.is_some() { " -H \"Dripfeed-Key: $KEY\"" } else { "" };
    command(&format!("curl {address}/v1/buckets/{bucket}/jobs{key} --json '{{\"hello\":\"world\"}}'"))
}
