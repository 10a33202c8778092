//! Many buckets: a row for each.

use maud::{Markup, html};

use crate::model::bucket::Row;
use crate::parts::card;
use crate::parts::leak::State;
use crate::parts::numbers;

/// Of numbers.
const COLUMNS: [&str; 7] = ["level", "capacity", "full", "in/s", "429/s", "out/s", "dead"];

pub(crate) fn of(rows: &[Row]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="All buckets" {
            table.sortable {
                thead { tr {
                    th scope="col" { "bucket" }
                    th scope="col" { "state" }
                    @for column in COLUMNS { th.number scope="col" { (column) } }
                } }
                tbody { @for bucket in rows { (row(bucket)) } }
            }
        }
    }
}

pub(crate) fn row(bucket: &Row) -> Markup {
    let full = numbers::percent(bucket.level, bucket.capacity);
    html! {
        tr id=(card::id(&bucket.name)) data-search=(bucket.name) {
            th scope="row" { a href={ "/buckets/" (bucket.name) } { (bucket.name) } }
            td { (State::of(bucket).badge()) }
            td.number { (numbers::count(bucket.level)) }
            td.number { (numbers::count(bucket.capacity)) }
            td { meter aria-label="full" min="0" max="100" value=(full) title={ (full) " %" } { (full) " %" } }
            (rate(bucket.accepted_per_s))
            (rate(bucket.refused_per_s))
            (rate(bucket.settled_per_s))
            td.number {
                @if bucket.dead > 0 { a href={ "/buckets/" (bucket.name) "/dead" } { (numbers::count(bucket.dead)) } }
                @else { "0" }
            }
        }
    }
}

/// What doesn't happen steps back.
fn rate(per_s: f64) -> Markup {
    html! { td.number.faint[per_s <= 0.0] { (numbers::rate(per_s)) } }
}
