//! A bucket in a frame, as it is shown.

use dripfeed_dashboard::frame::{self, Bucket, Frame, Notice, Row, State, Why};

#[derive(Clone)]
pub(super) struct ShownBucket {
    pub(super) name: String,
    /// `None` if the intake can't read the state of the bucket.
    pub(super) row: Option<Row>,
    /// `None` if the stream wasn't opened with the whole state of this bucket.
    pub(super) state: Option<Bucket>,
}

impl ShownBucket {
    /// Returns all buckets of a frame, ordered by name.
    pub(super) fn all(frame: &Frame) -> Vec<Self> {
        let state = |name: &str| frame.states.iter().find(|state| state.name == name).cloned();
        let read = frame.rows().into_iter().map(|row| {
            let state = state(&row.name);
            // Both have the numbers of this frame, but the rates of a state are those of the last seconds.
            Self { name: row.name.clone(), row: Some(state.as_ref().map_or(row, Bucket::row)), state }
        });
        let unread = frame.unavailable.iter().map(|name| Self { name: name.clone(), row: None, state: None });
        let mut all: Vec<Self> = read.chain(unread).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    pub(super) fn badge(&self) -> State {
        let unavailable = State { word: "unavailable", shape: "✕", mood: "bad" };
        self.row.as_ref().map_or(unavailable, State::of)
    }

    pub(super) fn notices(&self) -> Vec<Notice> {
        self.row.as_ref().map_or_else(|| vec![frame::of_unavailable(&self.name)], frame::of_bucket)
    }

    /// Returns the target, the effective rate, and why they differ.
    pub(super) fn why(&self) -> String {
        match (&self.state, &self.row) {
            (Some(state), _) => Why::of(state).text(),
            (None, Some(row)) => Why::of_row(row).text(),
            (None, None) => "Its state can't be read now.".to_owned(),
        }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.paused)
    }
}
