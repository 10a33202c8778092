//! The maximum age of listed data: a second, but 0 right after a change, so that the change is visible at once.

use std::time::{Duration, Instant};

use http::HeaderValue;
use parking_lot::Mutex;

const RECENT: Duration = Duration::from_secs(1);
const MAX_AGE: HeaderValue = HeaderValue::from_static("max-age=1");

/// When the last change was made with the dashboard.
#[derive(Default)]
pub(super) struct Freshness(Mutex<Option<Instant>>);

impl Freshness {
    pub(super) fn note_change(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// The value of `Cache-Control`. `None` if the data must be current.
    pub(super) fn max_age(&self) -> Option<HeaderValue> {
        let was_changed = self.0.lock().is_some_and(|changed| changed.elapsed() <= RECENT);
        (!was_changed).then_some(MAX_AGE)
    }
}
