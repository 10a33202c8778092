//! Caches the states of buckets for a second, for requests that allow that, so that many viewers of a page cost Redis
//! no more than one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use dripfeed_job::BucketName;
use http::{HeaderMap, header};
use parking_lot::Mutex;
use serde_json::value::RawValue;

/// How long a state is kept.
const MAX_AGE: Duration = Duration::from_secs(1);
/// The maximum bytes of all kept states. Further ones are read each time.
const MAX_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct RecentStates(Mutex<HashMap<BucketName, RecentState>>);

struct RecentState {
    /// When the read began.
    read: Instant,
    json: Box<RawValue>,
}

impl RecentState {
    fn is_recent(&self) -> bool {
        self.read.elapsed() < MAX_AGE
    }
}

impl RecentStates {
    pub(super) fn of(&self, bucket: &BucketName) -> Option<Box<RawValue>> {
        let states = self.0.lock();
        states.get(bucket).filter(|state| state.is_recent()).map(|state| state.json.clone())
    }

    /// `read`: when the read began.
    pub(super) fn keep(&self, bucket: &BucketName, json: &RawValue, read: Instant) {
        self.0.lock().insert(bucket.clone(), RecentState { read, json: json.to_owned() });
    }

    /// Removes old states, and those beyond `MAX_BYTES`.
    pub(super) fn sweep(&self) {
        let mut bytes = 0;
        self.0.lock().retain(|_, state| {
            bytes += state.json.get().len();
            state.is_recent() && bytes <= MAX_BYTES
        });
    }
}

/// Whether a request allows states of the last second: `Cache-Control: max-age=1`, or more.
pub(super) fn are_allowed(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let ages = values.flat_map(|value| value.split(',')).filter_map(|directive| {
        let (name, age) = directive.split_once('=')?;
        name.trim().eq_ignore_ascii_case("max-age").then(|| age.trim().parse::<u64>().ok())?
    });
    // The strictest directive applies.
    ages.min().is_some_and(|age| age >= MAX_AGE.as_secs())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use http::HeaderValue;

    use super::*;

    fn wanted(values: &[&'static str]) -> bool {
        let pairs = values.iter().map(|value| (header::CACHE_CONTROL, HeaderValue::from_static(value)));
        are_allowed(&pairs.collect())
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
        let json = serde_json::value::to_raw_value(&"x".repeat(MAX_BYTES / 2)).unwrap();
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
        let before = Instant::now().checked_sub(MAX_AGE).unwrap();
        states.keep(&name, &serde_json::value::to_raw_value(&1).unwrap(), before);
        assert!(states.of(&name).is_none());
        states.sweep();
        assert!(states.0.lock().is_empty());
    }
}
