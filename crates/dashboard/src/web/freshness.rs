//! How old what a page lists may be: a second, and nothing right after a change, which is to be seen at once.

use std::time::{Duration, Instant};

use http::HeaderValue;
use parking_lot::Mutex;

const RECENT: Duration = Duration::from_secs(1);
const MAX_AGE: HeaderValue = HeaderValue::from_static("max-age=1");

/// When somebody last changed something on a page.
#[derive(Default)]
pub(super) struct Freshness(Mutex<Option<Instant>>);

impl Freshness {
    pub(super) fn note_change(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// As `Cache-Control`. None: what is read is to be new.
    pub(super) fn max_age(&self) -> Option<HeaderValue> {
        let was_changed = self.0.lock().is_some_and(|changed| changed.elapsed() <= RECENT);
        (!was_changed).then_some(MAX_AGE)
    }
}
