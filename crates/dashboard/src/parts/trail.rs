//! The audit log of a bucket.

use maud::{Markup, html};

use crate::model::audit::AuditEntry;
use crate::parts::{listing, when};

pub(crate) fn of(entries: &[AuditEntry]) -> Markup {
    html! {
        section.card #audit {
            header { h2 { "Audit log" } a href="/audit" { "all buckets" } }
            @if entries.is_empty() { p.faint { "No changes yet: pauses, settings and purges are listed here." } }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Audit log" { table {
                    (listing::head(&["time", "key", "action", "detail"]))
                    tbody { @for entry in entries { tr { (cells(entry)) } } }
                } }
            }
        }
    }
}

/// The cells of a row: time, key, action and detail.
pub(crate) fn cells(entry: &AuditEntry) -> Markup {
    html! {
        td { (when::ago(&entry.at)) }
        td { (entry.key.as_deref().unwrap_or("–")) }
        td { (entry.action) }
        td { (entry.detail) }
    }
}
