//! A bucket as a card, with drawing and numbers; used for few buckets.

use maud::{Markup, html};

use crate::model::audit::AuditEntry;
use crate::model::bucket::{Bucket, Row};
use crate::parts::leak::State;
use crate::parts::{drawing, leak, numbers};

/// The id of a bucket's card in the page.
pub(crate) fn id(name: &str) -> String {
    format!("bucket-{name}")
}

/// `paused_by`: the entry of the audit log about its pause.
pub(crate) fn of(bucket: &Bucket, paused_by: Option<&AuditEntry>) -> Markup {
    let row = bucket.row();
    let state = State::of(&row);
    html! {
        article.card id=(id(&bucket.name)) data-mood=(state.mood) {
            header {
                h2 { a href={ "/buckets/" (bucket.name) } { (bucket.name) } }
                (state.badge())
            }
            div.pair {
                (drawing::bucket(&row))
                dl.numbers {
                    (level(&row))
                    (swatch("parked", row.parked))
                    (swatch("waiting", row.waiting))
                    (swatch("in flight", row.in_flight))
                    (text("oldest", &or_dash(row.oldest_age_ms.map(numbers::time))))
                    (text("empties in", &or_dash(leak::empties(&row))))
                    (dead(&row))
                }
            }
            p.why { (leak::why(bucket, paused_by)) }
        }
    }
}

/// The badge of a bucket whose state can't be read.
pub(crate) fn unavailable() -> Markup {
    html! { span.badge data-mood="bad" { "✕ unavailable" } }
}

/// The number of dead letters, with a link if there are any.
pub(crate) fn dead(row: &Row) -> Markup {
    number(
        "dead letters",
        &html! {
            @if row.dead > 0 { a href={ "/buckets/" (row.name) "/dead" } { (numbers::count(row.dead)) } }
            @else { "0" }
        },
    )
}

pub(crate) fn level(row: &Row) -> Markup {
    let (level, capacity) = (numbers::count(row.level), numbers::count(row.capacity));
    html! { div.level { dt { "level" } dd { strong { (level) } " of " (capacity) } } }
}

pub(crate) fn text(name: &str, value: &str) -> Markup {
    number(name, &html! { (value) })
}

pub(crate) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}

pub(crate) fn number(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// A number and its unit or limit.
pub(crate) fn tile(name: &str, value: &str, of: &str) -> Markup {
    html! { div { dt { (name) } dd { strong { (value) } " " (of) } } }
}

/// A layer of the drawing, with its colour.
pub(crate) fn swatch(name: &str, jobs: u64) -> Markup {
    let class = name.replace(' ', "-");
    html! { div { dt { span.swatch.(class) {} (name) } dd { (numbers::count(jobs)) } } }
}
