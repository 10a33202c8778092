//! What the page draws when it is loaded, and again with each frame.

use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::bucket::{Row, Summary};
use crate::model::redis::Redis;
use crate::parts::attention::{self, Notice};
use crate::parts::{card, numbers};
use crate::web::identity::Visitor;

/// From this number on a table shows more than drawings.
pub(super) const MOST_CARDS: usize = 30;

/// `others` are those of Redis.
pub(super) fn attention(rows: &[Row], unavailable: &[String], others: &[Notice]) -> Markup {
    let states = rows.iter().flat_map(attention::of_bucket);
    let gone = unavailable.iter().map(|name| attention::of_unavailable(name));
    attention::list(others.iter().cloned().chain(states).chain(gone).collect())
}

/// Only for keys that may see it; that it can't be had is seen by the buckets.
pub(super) async fn of_redis(page: &Dashboard, visitor: &Visitor) -> Vec<Notice> {
    if !visitor.permissions.all_buckets {
        return Vec::new();
    }
    let redis = page.api().get::<Redis>(visitor, "/v1/redis").await;
    redis.map(|redis| attention::of_redis(&redis)).unwrap_or_default()
}

pub(super) fn summary(all: &Summary) -> Markup {
    html! {
        p #summary {
            strong { (numbers::count(all.level)) } " jobs in " (numbers::counted(all.buckets, "bucket", "buckets"))
            " with room for " (numbers::count(all.capacity)) "; " (numbers::count(all.paused)) " paused; "
            (numbers::counted(all.dead, "dead letter", "dead letters")) "."
        }
    }
}

pub(super) fn unavailable(name: &str) -> Markup {
    html! {
        article.card id=(card::id(name)) {
            header { h2 { a href={ "/buckets/" (name) } { (name) } } span.badge data-mood="bad" { "✕ unavailable" } }
            p.why { "Its state can't be read now." }
        }
    }
}
