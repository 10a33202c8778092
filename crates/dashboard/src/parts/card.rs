//! A bucket among a few: its picture and its numbers.

use maud::{Markup, html};

use crate::model::bucket::{Bucket, Row};
use crate::parts::leak::State;
use crate::parts::{drawing, leak, numbers};

/// The id of a bucket's card in the page.
pub(crate) fn id(name: &str) -> String {
    format!("bucket-{name}")
}

pub(crate) fn of(bucket: &Bucket) -> Markup {
    let row = bucket.row();
    html! {
        article.card id=(id(&bucket.name)) {
            header {
                h2 { a href={ "/buckets/" (bucket.name) } { (bucket.name) } }
                (State::of(&row).badge())
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
                    (number("dead", &html! {
                        @if row.dead > 0 { a href={ "/buckets/" (row.name) "/dead" } { (numbers::count(row.dead)) } }
                        @else { "0" }
                    }))
                }
            }
            p.why { (leak::why(bucket)) }
        }
    }
}

pub(crate) fn level(row: &Row) -> Markup {
    let (level, capacity) = (numbers::count(row.level), numbers::count(row.capacity));
    number("level", &html! { strong { (level) } " of " (capacity) })
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

/// A layer of the drawing, with its look.
pub(crate) fn swatch(name: &str, jobs: u64) -> Markup {
    let class = name.replace(' ', "-");
    html! { div { dt { span.swatch.(class) {} (name) } dd { (numbers::count(jobs)) } } }
}
