//! HTTP clients, shared by upstreams of the same origin with the same trusted authorities and address rules. They share
//! its connections, too. Headers, timeouts and signatures belong to calls, not to connections.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::uri::{Authority, Scheme};
use parking_lot::Mutex;

use crate::upstream::Upstream;
use crate::upstream::root_certs::RootCerts;

/// The settings by which a client makes connections. They must all be in here, so that a connection into a private
/// network is never used for an upstream that may not be in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reach {
    pub(super) allow_private: bool,
    pub(super) connect_timeout: Duration,
    pub(super) root_certs: RootCerts,
}

impl Reach {
    pub(super) fn of(upstream: &Upstream) -> Self {
        Self {
            allow_private: upstream.allow_private(),
            connect_timeout: upstream.connect_timeout(),
            root_certs: upstream.root_certs().clone(),
        }
    }
}

/// What upstreams that share a client have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) reach: Reach,
    scheme: Option<Scheme>,
    authority: Option<Authority>,
}

impl Origin {
    pub(super) fn of(upstream: &Upstream) -> Self {
        let (scheme, authority) = (upstream.url().scheme().cloned(), upstream.url().authority().cloned());
        Self { reach: Reach::of(upstream), scheme, authority }
    }
}

/// A map of shared values, each of which lives as long as somebody uses it.
pub(crate) struct Shared<K, T>(Arc<Mutex<WeakMap<K, T>>>);

type WeakMap<K, T> = HashMap<K, Weak<T>>;

impl<K: Eq + Hash, T> Shared<K, T> {
    pub(crate) fn empty() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn get(&self, key: K, make: impl FnOnce(&K) -> T) -> Arc<T> {
        let mut values = self.0.lock();
        if let Some(existing) = values.get(&key).and_then(Weak::upgrade) {
            return existing;
        }
        // Unused entries are removed each time their number doubles: there may be thousands of origins.
        if values.len().is_power_of_two() {
            values.retain(|_, value| value.strong_count() > 0);
        }
        let value = Arc::new(make(&key));
        values.insert(key, Arc::downgrade(&value));
        value
    }
}

/// The clone is the same map.
impl<K, T> Clone for Shared<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::upstream::tests::settings;
    use crate::upstream::{Upstream, UpstreamSettings};

    fn origin(settings: UpstreamSettings) -> Origin {
        Origin::of(&Upstream::new(settings).unwrap())
    }

    #[test]
    fn upstreams_share_a_client_when_they_are_one_origin_and_trust_and_may_reach_the_same() {
        let (clients, long) = (Shared::empty(), Duration::from_secs(77));
        let client = |settings| clients.get(origin(settings), |_| ());
        let one = client(settings("http://127.0.0.1:1/"));
        let alike = UpstreamSettings { timeout: long, max_answer: 7, ..settings("http://127.0.0.1:1/other") };
        assert!(Arc::ptr_eq(&one, &client(alike)));
        for stranger in [
            settings("http://127.0.0.1:2/"),
            settings("https://127.0.0.1:1/"),
            UpstreamSettings { allow_private: false, ..settings("https://api.example/feed") },
            UpstreamSettings { connect_timeout: long, ..settings("http://127.0.0.1:1/") },
        ] {
            assert!(!Arc::ptr_eq(&one, &client(stranger)));
        }
    }

    #[test]
    fn a_client_that_nobody_uses_is_dropped() {
        let clients = Shared::empty();
        let client = Arc::downgrade(&clients.get(origin(settings("http://127.0.0.1:1/")), |_| ()));
        assert_eq!(client.strong_count(), 0);
    }
}
