//! Who did what to a bucket.

use maud::{Markup, html};

use crate::model::audit::AuditEntry;
use crate::parts::{listing, when};

pub(crate) fn of(entries: &[AuditEntry]) -> Markup {
    html! {
        section {
            h2 { "Who did what" }
            @if entries.is_empty() { p.faint { "Nobody has changed anything yet." } }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Who did what" { table {
                    (listing::head(&["when", "key", "did", "what"]))
                    tbody { @for entry in entries { tr {
                        td { (when::ago(&entry.at)) }
                        td { (entry.key.as_deref().unwrap_or("–")) }
                        td { (entry.action) }
                        td { (entry.detail) }
                    } } }
                } }
            }
        }
    }
}
