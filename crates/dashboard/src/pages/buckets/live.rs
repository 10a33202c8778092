//! Live updates of the buckets that a page shows. They are requested by name, so that a frame doesn't grow with the
//! total number of buckets.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;

use super::live_parts::{MOST_CARDS, attention, attention_of_many, first_job, summary, unavailable};
use super::pauses::{LivePauses, Pauses};
use super::redis_notices::RedisNotices;
use crate::dashboard::Dashboard;
use crate::live::watcher::Watcher;
use crate::live::{self, Part};
use crate::model::bucket::{Bucket, Frame, Row};
use crate::parts::attention::Notice;
use crate::parts::{card, listing, table, teach};

/// The query of live updates: the shown buckets, and the number of all.
#[derive(Deserialize)]
pub(crate) struct Watched {
    /// Names, separated by commas.
    #[serde(default)]
    names: String,
    of: Option<u64>,
}

/// The path of the live updates of a page that shows these buckets, of `of` in total.
pub(super) fn path(names: &[&str], of: usize) -> String {
    let query = listing::query(&[("names", Some(&names.join(","))), ("of", Some(&of.to_string()))]);
    format!("/live/buckets{query}")
}

pub(crate) async fn events(
    State(page): State<Dashboard>,
    Watcher(visitor): Watcher,
    Query(shown): Query<Watched>,
) -> Response {
    let names: Vec<String> = shown.names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let (dashboard, viewer, states) = (page.clone(), visitor.clone(), names.clone());
    let (notices, pauses, names, of) = (RedisNotices::default(), LivePauses::default(), Arc::new(names), shown.of);
    let draw = move |frame: Arc<Frame>| {
        let (dashboard, viewer, notices) = (dashboard.clone(), viewer.clone(), notices.clone());
        let (pauses, names) = (pauses.clone(), Arc::clone(&names));
        async move {
            let others = notices.at(&dashboard, &viewer, &frame).await;
            // Rows of a table don't show who paused a bucket.
            let with_cards = if of_few(&frame) { &frame.states[..] } else { &[] };
            let pauses = pauses.at(&dashboard, &viewer, &frame.at, with_cards).await;
            let mut parts = parts(&frame, &names, of, &others, &pauses)?;
            // A frame of many buckets lacks some.
            if of_few(&frame) {
                parts.push((teach::FIRST_JOB.to_owned(), first_job(&viewer, &frame.states)));
            }
            Some(parts)
        }
    };
    live::events(&page, &visitor, &states, draw).await
}

/// The parts for a frame. `None` if buckets were added or removed since the page was loaded.
fn parts(frame: &Frame, names: &[String], of: Option<u64>, others: &[Notice], pauses: &Pauses) -> Option<Vec<Part>> {
    let gone: Vec<&String> = frame.unavailable.iter().filter(|name| names.contains(name)).collect();
    if of.is_some_and(|of| of != frame.summary.buckets) || frame.states.len() + gone.len() != names.len() {
        return None;
    }
    let mut parts = vec![("summary".to_owned(), summary(&frame.summary))];
    let attention = if frame.has_all() {
        attention(&rows(frame), &frame.unavailable, others)
    } else {
        attention_of_many(frame, others)
    };
    parts.push(("attention".to_owned(), attention));
    if of_few(frame) {
        parts.extend(
            frame.states.iter().map(|bucket| (card::id(&bucket.name), card::of(bucket, pauses.entry_of(bucket)))),
        );
        parts.extend(gone.iter().map(|name| (card::id(name), unavailable(name))));
    } else {
        let rows = frame.states.iter().map(Bucket::row);
        parts.extend(rows.map(|row| (card::id(&row.name), table::row(&row, None))));
    }
    Some(parts)
}

/// The rows for the page; from states if the frame has all of them, because their rates are more recent.
fn rows(frame: &Frame) -> Vec<Row> {
    if of_few(frame) {
        return frame.states.iter().map(Bucket::row).collect();
    }
    let states: HashMap<&str, &Bucket> = frame.states.iter().map(|state| (state.name.as_str(), state)).collect();
    let newer = |row: Row| states.get(row.name.as_str()).map_or(row, |state| state.row());
    frame.rows().into_iter().map(newer).collect()
}

fn of_few(frame: &Frame) -> bool {
    frame.summary.buckets <= MOST_CARDS as u64
}
