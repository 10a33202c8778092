//! One bucket: drawing, numbers, processors and limits.

use maud::{Markup, html};

use crate::model::audit::AuditEntry;
use crate::model::bucket::{Bucket, Replica, Row};
use crate::parts::leak::State;
use crate::parts::{action, card, drawing, leak, listing, numbers, policy, when};
use crate::web::identity::Visitor;

/// `paused_by`: the entry of the audit log about the pause of a bucket.
pub(crate) fn now(visitor: &Visitor, bucket: &Bucket, paused_by: Option<&AuditEntry>) -> Markup {
    let row = bucket.row();
    let state = State::of(&row);
    html! {
        section.overview.card #overview aria-label="Now" data-mood=(state.mood) {
            (drawing::bucket(&row))
            div {
                header {
                    p { (state.badge()) " " (leak::why(bucket, paused_by)) }
                    @if visitor.may("operate") { (pause(visitor, bucket)) }
                }
                dl.tiles { (tiles(bucket, &row)) }
                dl.layers {
                    (card::swatch("parked", row.parked))
                    (card::swatch("waiting", row.waiting))
                    (card::swatch("in flight", row.in_flight))
                }
            }
        }
    }
}

/// Replaces numbers that may be outdated.
pub(crate) fn unavailable() -> Markup {
    html! {
        section.card #overview aria-label="Now" data-mood="bad" {
            p { (card::unavailable()) " Its state can't be read now." }
        }
    }
}

fn pause(visitor: &Visitor, bucket: &Bucket) -> Markup {
    let (verb, label) = if bucket.paused { ("resume", "Resume") } else { ("pause", "Pause") };
    action::keyed(visitor, &format!("/buckets/{}/{verb}", bucket.name), label, "p")
}

fn tiles(bucket: &Bucket, row: &Row) -> Markup {
    let target = bucket.pace.target.as_deref().map_or_else(|| "no rate limit".to_owned(), |rate| format!("of {rate}"));
    let room = format!("of {}, {}", numbers::count(row.capacity), numbers::share(row.level, row.capacity));
    let bytes = format!("of {}", numbers::bytes(bucket.capacity_bytes));
    html! {
        (card::tile("level", &numbers::count(row.level), &room))
        (card::tile("in", &numbers::measured(row.accepted_per_s), "accepted"))
        (card::tile("out", &numbers::measured(row.settled_per_s), &target))
        (card::tile("refused", &numbers::measured(row.refused_per_s), "with status 429"))
        (card::tile("oldest job", &card::or_dash(row.oldest_age_ms.map(numbers::time)), "in the bucket"))
        (card::tile("empties in", &card::or_dash(leak::empties(row)), "if no jobs are added"))
        (card::tile("size", &numbers::bytes(bucket.bytes), &bytes))
        div {
            dt { "dead letters" }
            dd {
                @if row.dead > 0 { a href={ "/buckets/" (row.name) "/dead" } { strong { (numbers::count(row.dead)) } } }
                @else { strong { "0" } }
                " " (numbers::bytes(bucket.dead_bytes))
            }
        }
    }
}

/// A separate part of the page, because the ages of heartbeats change with each frame.
pub(crate) fn replicas(bucket: &Bucket) -> Markup {
    html! {
        section.card #replicas {
            h2 { "Replicas" }
            @if bucket.replicas.is_empty() {
                p.faint { "No processor serves this bucket. Start one: " code { "dripfeed -c FILE processor" } }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Replicas" { table {
                    (listing::head(&["replica", "#in flight", "member since", "#heartbeat"]))
                    tbody { @for replica in &bucket.replicas { (one(replica)) } }
                } }
            }
        }
    }
}

fn one(replica: &Replica) -> Markup {
    let heartbeat = replica.heartbeat_age_ms.map(|ms| numbers::time(ms / 1000 * 1000));
    html! {
        tr {
            th scope="row" { (replica.consumer) }
            td.number { (numbers::count(replica.in_flight)) }
            td { @match &replica.since {
                Some(at) => (when::ago(at)),
                None if replica.silent => "–",
                None => "on standby",
            } }
            td.number { @match heartbeat {
                Some(age) if replica.silent => span.badge data-mood="bad" { "■ none for " (age) },
                Some(age) => { (age) " ago" },
                None => "–",
            } }
        }
    }
}

pub(crate) fn details(bucket: &Bucket) -> Markup {
    let totals = &bucket.totals;
    html! {
        div #details {
            section.card.totals {
                h2 { "Totals" }
                dl.numbers {
                    (card::text("accepted", &numbers::count(totals.accepted)))
                    @for (ending, count) in &totals.ended { (card::text(ending, &numbers::count(*count))) }
                    @for (code, count) in totals.refused.iter().filter(|(_, count)| **count > 0) {
                        (card::text(&format!("refused: {code}"), &numbers::count(*count)))
                    }
                    (card::text("recovered", &numbers::count(totals.recovered)))
                    (card::text("dead letters replayed", &numbers::count(totals.dead_replayed)))
                    (card::text("dead letters dropped", &numbers::count(totals.dead_dropped)))
                }
            }
            section.card {
                h2 { "Limits" }
                dl.numbers {
                    (card::text("kind", &bucket.kind))
                    (card::text("rate", bucket.pace.target.as_deref().unwrap_or("no limit")))
                    (card::text("share of one caller", bucket.max_share.as_deref().unwrap_or("no limit")))
                }
                @if !bucket.limits.is_empty() {
                    div.scroll tabindex="0" role="region" aria-label="Limits" { table {
                        (listing::head(&policy::COLUMNS))
                        tbody { @for limit in &bucket.limits { tr { (policy::cells(limit)) } } }
                    } }
                }
            }
        }
    }
}
