//! One bucket: its picture, its numbers, and what serves and limits it.

use maud::{Markup, html};

use crate::model::bucket::Bucket;
use crate::parts::leak::State;
use crate::parts::{action, card, drawing, leak, listing, numbers};
use crate::web::identity::Visitor;

pub(crate) fn now(visitor: &Visitor, bucket: &Bucket) -> Markup {
    let row = bucket.row();
    let bytes = format!("{} of {}", numbers::bytes(bucket.bytes), numbers::bytes(bucket.capacity_bytes));
    let dead = format!("{}, {}", numbers::count(bucket.dead), numbers::bytes(bucket.dead_bytes));
    html! {
        section.overview #overview aria-label="Now" {
            (drawing::bucket(&row))
            div {
                p { (State::of(&row).badge()) " " (leak::why(bucket)) }
                dl.numbers {
                    (card::level(&row))
                    (card::swatch("parked", row.parked))
                    (card::swatch("waiting", row.waiting))
                    (card::swatch("in flight", row.in_flight))
                    (card::text("bytes", &bytes))
                    (card::text("oldest", &card::or_dash(row.oldest_age_ms.map(numbers::time))))
                    (card::text("empties in", &card::or_dash(leak::empties(&row))))
                    (card::text("dead letters", &dead))
                }
                @if visitor.may("operate") {
                    div.actions {
                        @if bucket.paused {
                            (action::keyed(visitor, &format!("/buckets/{}/resume", bucket.name), "Resume", "p"))
                        } @else {
                            (action::keyed(visitor, &format!("/buckets/{}/pause", bucket.name), "Pause", "p"))
                        }
                    }
                }
            }
        }
    }
}

/// Drawn by a module, from when the page was opened on.
pub(crate) fn charts(bucket: &Bucket) -> Markup {
    let capacity = bucket.capacity.to_string();
    let rate = |rate: f64| format!("{rate:.2}");
    let ceiling = bucket.pace.effective_per_s.map(rate);
    html! {
        section.charts #charts aria-label="Since this page was opened" {
            live-chart data-title="level" data-a=(bucket.level) data-line=(capacity)
                data-legend="jobs, since you opened this page; the line: capacity" {}
            live-chart data-title="in and refused" data-a=(rate(bucket.accepted_per_s))
                data-b=(rate(bucket.refused_per_s)) data-legend="accepted/s; red: refused/s" {}
            live-chart data-title="out" data-a=(rate(bucket.settled_per_s)) data-line=[ceiling]
                data-legend="ended/s; the line: the rate in force" {}
        }
    }
}

pub(crate) fn details(bucket: &Bucket) -> Markup {
    let totals = &bucket.totals;
    html! {
        div.columns #details {
            section {
                h2 { "Replicas" }
                @if bucket.replicas.is_empty() {
                    p.faint { "None. Start one: " code { "dripfeed -c FILE processor" } }
                } @else {
                    table {
                        (listing::head(&["replica", "#in flight"]))
                        tbody { @for replica in &bucket.replicas {
                            tr {
                                th scope="row" { (replica.consumer) }
                                td.number { (numbers::count(replica.in_flight)) }
                            }
                        } }
                    }
                }
            }
            section {
                h2 { "Since it began" }
                dl.numbers {
                    (card::text("accepted", &numbers::count(totals.accepted)))
                    @for (ending, count) in &totals.ended { (card::text(ending, &numbers::count(*count))) }
                    @for (code, count) in totals.refused.iter().filter(|(_, count)| **count > 0) {
                        (card::text(&format!("refused: {code}"), &numbers::count(*count)))
                    }
                    (card::text("recovered", &numbers::count(totals.recovered)))
                    (card::text("letters replayed", &numbers::count(totals.dead_replayed)))
                    (card::text("letters dropped", &numbers::count(totals.dead_dropped)))
                }
            }
            section {
                h2 { "Limits" }
                dl.numbers {
                    (card::text("kind", &bucket.kind))
                    (card::text("rate", bucket.pace.target.as_deref().unwrap_or("no limit")))
                    (card::text("for one caller", bucket.max_share.as_deref().unwrap_or("no limit")))
                }
                @for limit in &bucket.limits { pre.payload tabindex="0" { (limit) } }
            }
        }
    }
}
