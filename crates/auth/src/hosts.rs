//! The `Host` check against DNS rebinding, where no keys are configured.
//!
//! The owner of a domain can point it at this machine. A page of that domain then has our origin, so `Host` and
//! `Origin` agree. An IP address or `localhost` can't be rebound like that.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use http::uri::Authority;
use http::{HeaderMap, Uri, header};

use crate::api_keys::ApiKeys;

/// The host names of this service. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<BTreeSet<String>>);

impl Hosts {
    /// None: one of them is no host name.
    #[must_use]
    pub fn new<T: AsRef<str>>(names: &[T]) -> Option<Self> {
        let name = |name: &T| {
            let authority: Authority = name.as_ref().parse().ok()?;
            let name = plain(authority.host());
            (authority.as_str() == authority.host() && !name.is_empty()).then_some(name)
        };
        names.iter().map(name).collect::<Option<_>>().map(|names| Self(Arc::new(names)))
    }

    /// Whether a request names this service by an address, `localhost` or a configured name. With keys configured every
    /// name passes, because a page of another origin has no key. The authority of the request line, or of HTTP/2,
    /// counts like `Host`.
    #[must_use]
    pub fn allow(&self, keys: &ApiKeys, uri: &Uri, headers: &HeaderMap) -> bool {
        let fields = headers.get_all(header::HOST).iter().map(|host| Authority::try_from(host.as_bytes()).ok());
        let mut names = fields.chain(uri.authority().cloned().map(Some));
        !keys.is_empty() || names.all(|host| host.is_some_and(|host| self.has(host.host())))
    }

    fn has(&self, host: &str) -> bool {
        let host = plain(host);
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_address = bracketed.map_or_else(|| host.parse::<IpAddr>().is_ok(), |v6| v6.parse::<Ipv6Addr>().is_ok());
        is_address || host == "localhost" || host.ends_with(".localhost") || self.0.contains(&host)
    }
}

fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn allows(uri: &str, hosts: &[&str]) -> bool {
        let headers = hosts.iter().map(|host| (header::HOST, host.parse().unwrap())).collect();
        Hosts::new(&["Intake.example"]).unwrap().allow(&ApiKeys::default(), &uri.parse().unwrap(), &headers)
    }

    #[test]
    fn addresses_and_configured_names_pass() {
        for host in ["127.0.0.1:7180", "192.0.2.1", "[::1]:7180", "localhost:7180", "LocalHost.", "a.localhost"] {
            assert!(allows("/", &[host]), "{host}");
        }
        assert!(allows("/", &["intake.EXAMPLE:7180"]));
        assert!(allows("http://127.0.0.1/", &["127.0.0.1"]));
        // No browser sends such a request.
        assert!(allows("/", &[]));
    }

    #[test]
    fn a_name_that_another_may_own_is_refused() {
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "",
            "a b",
            "1.2.3",
            "[1.2.3.4]",
        ] {
            assert!(!allows("/", &[host]), "{host:?}");
        }
        assert!(!allows("/", &["127.0.0.1", "evil.example"]));
        assert!(!allows("http://evil.example/", &["127.0.0.1"]));
    }

    #[test]
    fn a_configured_name_has_no_port() {
        for name in ["", "a:80", "http://a", "a/b", "u@a"] {
            assert!(Hosts::new(&[name]).is_none(), "{name:?}");
        }
    }
}
