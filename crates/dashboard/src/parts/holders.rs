//! The callers with the most jobs in a bucket, and refusals by limit.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use crate::model::bucket::Bucket;
use crate::model::flows::Flows;
use crate::model::holders::Holders;
use crate::parts::{listing, numbers, when};

/// Shorter throttling isn't shown, because the card may be this old.
const MIN_SHOWN: SignedDuration = SignedDuration::from_secs(10);

/// The content of a card.
pub(crate) fn of(bucket: &Bucket, holders: &Holders, flows: &Flows) -> Markup {
    html! {
        h2 { "Callers" }
        @if holders.items.is_empty() && bucket.level > 0 {
            p.faint { "All jobs were submitted without a key." }
        } @else if holders.items.is_empty() { p.faint { "No caller has a job in the bucket now." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Callers" { table {
                (listing::head(&["caller", "#jobs", "#of capacity", "#bytes", "#of bytes"]))
                tbody { @for holder in &holders.items { tr {
                    th scope="row" { (jobs_of(bucket, &holder.caller)) (throttled(flows, &holder.caller)) }
                    td.number { (numbers::count(holder.jobs)) }
                    td.number { (numbers::share(holder.jobs, bucket.capacity)) }
                    td.number { (numbers::bytes(holder.bytes)) }
                    td.number { (numbers::share(holder.bytes, bucket.capacity_bytes)) }
                } } }
            } }
            @let others = holders.callers.saturating_sub(holders.items.len() as u64);
            @if others > 0 { p.faint { "and " (numbers::pluralize(others, "other caller", "other callers")) } }
        }
        @if !holders.limits.is_empty() {
            (limits(holders))
            p.faint { "Counted by this intake since it started." }
        }
        @if !holders.refused.is_empty() {
            (refused(bucket, holders))
            p.faint { "Counted by all intakes in this hour and the last one." }
        }
    }
}

/// A link to the jobs of a caller, where they can be cancelled.
fn jobs_of(bucket: &Bucket, caller: &str) -> Markup {
    let query = listing::query(&[("caller", Some(caller))]);
    html! { a href={ "/buckets/" (bucket.name) "/jobs" (query) } { (caller) } }
}

/// That a caller is paused, or when a throttled one is checked again.
fn throttled(flows: &Flows, caller: &str) -> Markup {
    let flows = flows.items.iter().filter(|flow| flow.caller.as_deref() == Some(caller));
    if flows.clone().any(|flow| flow.paused) {
        return html! { br; span.faint { "paused" } };
    }
    let until = flows.filter_map(|flow| flow.throttled_until.as_deref()?.parse::<Timestamp>().ok()).max();
    let until = until.filter(|until| until.duration_since(Timestamp::now()) > MIN_SHOWN);
    html! { @if let Some(at) = until { br; span.faint { "throttled, next check at " (when::clock(at)) } } }
}

fn limits(holders: &Holders) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Limits" { table {
            (listing::head(&["limit", "#allowed", "#refused", "#shadow refused"]))
            tbody { @for (limit, counts) in &holders.limits { tr {
                th scope="row" { (limit) }
                td.number { (numbers::count(counts.allowed)) }
                td.number { (numbers::count(counts.refused)) }
                td.number { (numbers::count(counts.shadow_refused)) }
            } } }
        } }
    }
}

fn refused(bucket: &Bucket, holders: &Holders) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Refused callers" { table {
            (listing::head(&["refused caller", "by", "#refused"]))
            tbody { @for found in &holders.refused { tr {
                th scope="row" { (jobs_of(bucket, &found.caller)) }
                td { (found.limit) }
                td.number { (numbers::count(found.refused)) }
            } } }
        } }
    }
}
