//! The parts of the page that are rendered when it is loaded and again with each frame.

use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::bucket::{Bucket, Frame, Row, Summary};
use crate::model::redis::Redis;
use crate::parts::attention::{self, Notice};
use crate::parts::{card, numbers, teach};
use crate::web::identity::Visitor;

/// Maximum number of cards; from thirty buckets on there is a table.
pub(super) const MOST_CARDS: usize = 29;

/// As [`attention`], for a frame without rows for all buckets.
pub(super) fn attention_of_many(frame: &Frame, others: &[Notice]) -> Markup {
    let gone = attention::of_all_unavailable(&frame.unavailable, frame.summary.capacity > 0);
    let mut notices: Vec<Notice> = others.iter().cloned().chain(gone).collect();
    let (problems, warnings) = attention::counts(&notices);
    let of_buckets = frame.notices();
    notices.extend(frame.urgent().iter().flat_map(attention::of_bucket));
    attention::list_of(notices, (problems + of_buckets.0, warnings + of_buckets.1))
}

/// The notices of the page. `others` are those of Redis.
pub(super) fn attention(rows: &[Row], unavailable: &[String], others: &[Notice]) -> Markup {
    let states = rows.iter().flat_map(attention::of_bucket);
    let gone = attention::of_all_unavailable(unavailable, !rows.is_empty());
    attention::list(others.iter().cloned().chain(states).chain(gone).collect())
}

/// The notices of Redis, if the key may see them. None if they can't be read, as the buckets show that.
pub(super) async fn of_redis(page: &Dashboard, visitor: &Visitor) -> Vec<Notice> {
    if !visitor.permissions.all_buckets {
        return Vec::new();
    }
    let redis = page.api().get::<Redis>(visitor, "/v1/redis").await;
    let redis = redis.map(|redis| if page.has_playground() { redis.of_playground() } else { redis });
    redis.map(|redis| attention::of_redis(&redis)).unwrap_or_default()
}

/// The totals of all buckets.
pub(super) fn summary(all: &Summary) -> Markup {
    let dead = format!("in {}", numbers::pluralize(all.buckets_with_dead, "bucket", "buckets"));
    let paused = format!("{} paused", numbers::count(all.paused));
    // If no bucket can be read, the totals are unknown, not 0.
    let is_known = all.capacity > 0 || all.buckets == 0;
    let shown = |text: String| if is_known { text } else { "–".to_owned() };
    let capacity = format!("of {}", shown(numbers::count(all.capacity)));
    html! {
        dl.tiles.card #summary {
            (card::tile("buckets", &numbers::count(all.buckets), &shown(paused)))
            (card::tile("jobs", &shown(numbers::count(all.level)), &capacity))
            (card::tile("in", &shown(numbers::measured(all.accepted_per_s)), "accepted"))
            (card::tile("out", &shown(numbers::measured(all.settled_per_s)), "settled"))
            (card::tile("refused", &shown(numbers::measured(all.refused_per_s)), "with 429"))
            (card::tile("dead letters", &shown(numbers::count(all.dead)), &shown(dead)))
        }
    }
}

pub(super) fn unavailable(name: &str) -> Markup {
    html! {
        article.card id=(card::id(name)) {
            header { h2 { a href={ "/buckets/" (name) } { (name) } } (card::unavailable()) }
            p.why { "Its state can't be read now." }
        }
    }
}

/// The command that submits a job, until the first one is accepted.
pub(super) fn first_job(visitor: &Visitor, states: &[Bucket]) -> Markup {
    let is_first = states.iter().all(|bucket| bucket.totals.accepted == 0);
    teach::first_job(visitor, states.first().filter(|_| is_first).map(|bucket| bucket.name.as_str()))
}
