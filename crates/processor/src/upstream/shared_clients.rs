//! HTTP clients of upstreams. Upstreams with the same trusted authorities and address rules share a client, and with it
//! the connections to each host. Headers, timeouts and signatures belong to calls, not to connections.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::upstream::Upstream;
use crate::upstream::root_certs::RootCerts;

/// What a client trusts, and may reach. All that its connections are made by belongs here: one that was made for an
/// upstream in a private network is never used for another upstream that must not be in one.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Those that are in use. Few: an installation knows few authorities.
pub(super) struct SharedClients<C>(Arc<Mutex<Known<C>>>);

type Known<C> = Vec<(Reach, Weak<C>)>;

impl<C> SharedClients<C> {
    pub(super) fn none_yet() -> Self {
        Self(Arc::default())
    }

    pub(super) fn get(&self, reach: Reach, make: impl FnOnce(&Reach) -> C) -> Arc<C> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|(_, client)| client.strong_count() > 0);
        let known = clients.iter().find(|(known, _)| *known == reach).and_then(|(_, client)| client.upgrade());
        known.unwrap_or_else(|| {
            let client = Arc::new(make(&reach));
            clients.push((reach, Arc::downgrade(&client)));
            client
        })
    }
}

/// The same clients.
impl<C> Clone for SharedClients<C> {
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

    fn reach(settings: UpstreamSettings) -> Reach {
        Reach::of(&Upstream::new(settings).unwrap())
    }

    #[test]
    fn upstreams_share_a_client_when_they_trust_and_may_reach_the_same() {
        let (clients, long) = (SharedClients::none_yet(), Duration::from_secs(77));
        let client = |settings| clients.get(reach(settings), |_| ());
        let one = client(settings("http://127.0.0.1:1/"));
        let alike = UpstreamSettings { timeout: long, max_answer: 7, ..settings("http://127.0.0.1:2/") };
        assert!(Arc::ptr_eq(&one, &client(alike)));
        for stranger in [
            UpstreamSettings { allow_private: false, ..settings("https://api.example/feed") },
            UpstreamSettings { connect_timeout: long, ..settings("http://127.0.0.1:1/") },
        ] {
            assert!(!Arc::ptr_eq(&one, &client(stranger)));
        }
    }

    #[test]
    fn a_client_that_nobody_uses_is_dropped() {
        let clients = SharedClients::none_yet();
        let client = Arc::downgrade(&clients.get(reach(settings("http://127.0.0.1:1/")), |_| ()));
        assert_eq!(client.strong_count(), 0);
    }
}
