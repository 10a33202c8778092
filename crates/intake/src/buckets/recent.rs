//! The states of buckets that were read within the last second, for those who ask for none newer: a page that many
//! load costs Redis what one costs.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use dripfeed_job::BucketName;
use http::{HeaderMap, header};
use parking_lot::Mutex;
use serde_json::value::RawValue;

/// For how long a state is kept.
const KEPT: Duration = Duration::from_secs(1);
/// Of all that are kept. Beyond that they are read each time.
const KEPT_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct RecentStates(Mutex<HashMap<BucketName, RecentState>>);

struct RecentState {
    /// When reading it began.
    read: Instant,
    json: Box<RawValue>,
}

impl RecentState {
    fn is_recent(&self) -> bool {
        self.read.elapsed() < KEPT
    }
}

impl RecentStates {
    pub(super) fn of(&self, bucket: &BucketName) -> Option<Box<RawValue>> {
        let states = self.0.lock();
        states.get(bucket).filter(|state| state.is_recent()).map(|state| state.json.clone())
    }

    /// `read`: when reading it began.
    pub(super) fn keep(&self, bucket: &BucketName, json: &RawValue, read: Instant) {
        self.0.lock().insert(bucket.clone(), RecentState { read, json: json.to_owned() });
    }

    /// Forgets those that nobody gets any more, and those that are too much.
    pub(super) fn sweep(&self) {
        let mut bytes = 0;
        self.0.lock().retain(|_, state| {
            bytes += state.json.get().len();
            state.is_recent() && bytes <= KEPT_BYTES
        });
    }
}

/// Whether states of the last second will do: `Cache-Control: max-age=1`, or more.
pub(super) fn are_wanted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let ages = values.flat_map(|value| value.split(',')).filter_map(|directive| {
        let (name, age) = directive.split_once('=')?;
        name.trim().eq_ignore_ascii_case("max-age").then(|| age.trim().parse::<u64>().ok())?
    });
    // The strictest holds.
    ages.min().is_some_and(|age| age >= KEPT.as_secs())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use http::HeaderValue;

    use super::*;

    fn wanted(values: &[&'static str]) -> bool {
        let pairs = values.iter().map(|value| (header::CACHE_CONTROL, HeaderValue::from_static(value)));
        are_wanted(&pairs.collect())
    }

    #[test]
    fn a_recent_state_is_for_those_alone_who_accept_its_age() {
        assert!(wanted(&["max-age=1"]));
        assert!(wanted(&["no-transform, Max-Age = 60"]));
        for fresh in [&["max-age=0"][..], &["no-cache"], &["max-age=x"], &["max-age=5", "max-age=0"], &["max-age"], &[]]
        {
            assert!(!wanted(fresh), "{fresh:?}");
        }
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let states = RecentStates::default();
        let json = serde_json::value::to_raw_value(&"x".repeat(KEPT_BYTES / 2)).unwrap();
        let names = ["a", "b", "c"].map(|name| name.parse::<BucketName>().unwrap());
        for name in &names {
            states.keep(name, &json, Instant::now());
        }
        states.sweep();
        assert_eq!(names.iter().filter(|name| states.of(name).is_some()).count(), 1);
    }

    #[test]
    fn an_old_state_is_forgotten() {
        let (states, name) = (RecentStates::default(), "a".parse::<BucketName>().unwrap());
        let before = Instant::now().checked_sub(KEPT).unwrap();
        states.keep(&name, &serde_json::value::to_raw_value(&1).unwrap(), before);
        assert!(states.of(&name).is_none());
        states.sweep();
        assert!(states.0.lock().is_empty());
    }
}
