//! The content of one event.

use std::cmp::Reverse;

use dripfeed_auth::Caller;
use serde::Serialize;
use utoipa::ToSchema;

use crate::buckets::state::BucketState;
use crate::buckets::state::needs::Need;
use crate::buckets::state::row::{COLUMNS, Row};
use crate::readings::Reading;
use crate::request::time;

/// With more buckets, a frame has rows only for those whose full state was requested.
const MAX_ROWS: usize = 1000;
/// The maximum number of buckets that need attention in a frame with more than `MAX_ROWS` buckets.
const MAX_URGENT: usize = 100;

/// The state of the buckets that the caller may access, at one moment.
#[derive(Serialize, ToSchema)]
#[schema(as = Frame)]
pub(crate) struct Frame<'r> {
    at: String,
    summary: Summary,
    /// The column names of the rows in `buckets`.
    columns: &'static [&'static str],
    /// All names that a bucket may have among its `problems` and `warnings`: in rows these are indices into this list.
    #[schema(value_type = Vec<String>, example = json!(["dead_full", "outbox_full", "no_processor", "dead_letters"]))]
    needs: &'static [Need],
    /// One row for each bucket, ordered by name. With more than 1000 buckets, only for those in `states`.
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    buckets: Vec<Row<'r>>,
    /// The full state of the buckets in the parameter `states`.
    #[schema(value_type = Vec<BucketState>)]
    states: Vec<&'r BucketState>,
    /// Buckets whose state can't be read at the moment.
    unavailable: Vec<&'r str>,
    attention: Attention<'r>,
}

/// What needs an operator.
#[derive(Default, Serialize, ToSchema)]
struct Attention<'r> {
    /// How many `problems` all buckets have.
    problems: usize,
    /// How many `warnings` all buckets have.
    warnings: usize,
    /// With more than 1000 buckets, rows of at most 100 of them, those with problems first.
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    buckets: Vec<Row<'r>>,
}

/// Totals of all buckets that the caller may access.
#[derive(Default, Serialize, ToSchema)]
struct Summary {
    buckets: usize,
    level: u64,
    capacity: u64,
    dead: u64,
    /// Buckets with dead letters.
    buckets_with_dead: usize,
    paused: usize,
    accepted_per_s: f64,
    refused_per_s: f64,
    settled_per_s: f64,
}

impl<'r> Frame<'r> {
    pub(super) fn of(reading: &'r Reading, caller: &Caller, wanted: &[String]) -> Self {
        let theirs: Vec<_> = reading.buckets.iter().filter(|(name, _)| caller.may_use(name.as_str())).collect();
        let all = theirs.len() <= MAX_ROWS;
        let mut frame = Self {
            at: time::show(reading.at_ms),
            summary: Summary { buckets: theirs.len(), ..Summary::default() },
            columns: &COLUMNS,
            needs: &Need::ALL,
            buckets: Vec::new(),
            states: Vec::new(),
            unavailable: Vec::new(),
            attention: Attention::default(),
        };
        let mut urgent = Vec::new();
        for (name, state) in theirs {
            let Some(state) = state else {
                frame.unavailable.push(name.as_str());
                continue;
            };
            frame.summary.add(state);
            let (problems, warnings) = (state.problems.len(), state.warnings.len());
            frame.attention.problems += problems;
            frame.attention.warnings += warnings;
            if !all && problems + warnings > 0 {
                urgent.push((problems, state));
            }
            let is_wanted = wanted.iter().any(|wanted| wanted == name.as_str());
            if all || is_wanted {
                frame.buckets.push(Row(state));
            }
            if is_wanted {
                frame.states.push(state);
            }
        }
        // Stable, so those with the same number of problems stay sorted by name.
        urgent.sort_by_key(|(problems, _)| Reverse(*problems));
        frame.attention.buckets = urgent.into_iter().take(MAX_URGENT).map(|(_, state)| Row(state)).collect();
        frame
    }

    /// Formats the frame as a server-sent event.
    pub(super) fn event(&self) -> Result<String, serde_json::Error> {
        Ok(format!("event: frame\ndata: {}\n\n", serde_json::to_string(self)?))
    }
}

impl Summary {
    fn add(&mut self, state: &BucketState) {
        self.level += state.level;
        self.capacity += state.capacity;
        self.dead += state.dead;
        self.buckets_with_dead += usize::from(state.dead > 0);
        self.paused += usize::from(state.paused);
        self.accepted_per_s += state.accepted_per_s;
        self.refused_per_s += state.refused_per_s;
        self.settled_per_s += state.settled_per_s;
    }
}
