//! Links to jobs by state, with the number of those in the bucket.

use maud::{Markup, html};

use super::jobs_query::JobsQuery;
use crate::model::bucket::Bucket;
use crate::parts::numbers;

const STATES: [(&str, &str); 8] = [
    ("", "in the bucket"),
    ("waiting", "waiting"),
    ("in_flight", "in flight"),
    ("parked", "parked"),
    ("delivered", "delivered"),
    ("dead", "dead"),
    ("expired", "expired"),
    ("cancelled", "cancelled"),
];

/// The id of this part of the page.
pub(super) const ID: &str = "states";

/// `bucket`: `None` if it can't be read.
pub(super) fn links(path: &str, wanted: &JobsQuery, bucket: Option<&Bucket>) -> Markup {
    // The numbers are those of all callers and ages.
    let counted = bucket.filter(|_| !wanted.is_narrowed());
    html! {
        nav.chips id=(ID) aria-label="State" {
            @for (state, label) in STATES {
                @let query = wanted.in_state(state);
                a href={ (path) (query) } aria-current=[(state == wanted.state()).then_some("page")] {
                    (label)
                    @if let Some(jobs) = counted.and_then(|bucket| jobs(bucket, state)) {
                        " " span.jobs { (numbers::count(jobs)) }
                    }
                }
            }
        }
    }
}

/// Ended jobs are counted only since the beginning of the bucket.
fn jobs(bucket: &Bucket, state: &str) -> Option<u64> {
    match state {
        "" => Some(bucket.level),
        "waiting" => Some(bucket.waiting),
        "in_flight" => Some(bucket.in_flight),
        "parked" => Some(bucket.parked),
        _ => None,
    }
}

/// `there` for a job in the bucket.
pub(super) fn label(state: &str) -> &'static str {
    let known = STATES.iter().find(|(value, _)| *value == state);
    known.map_or("there", |(_, label)| label)
}
