//! Checks against attacks through a caller's browser: `Origin` against cross-site request forgery, and, if no keys are
//! configured, `Host` against DNS rebinding.
//!
//! The owner of a domain can point it at this machine. For a page of that domain, `Host` and `Origin` agree, so the
//! check of `Origin` isn't enough. IP addresses and `localhost` can't be rebound.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Uri, header};

use crate::api_keys::ApiKeys;

/// Returns whether a request comes from a page of this origin, or not from a page. Browsers send `Origin` with requests
/// that may change something, but not with GET or HEAD for images and links. Such a request may be a job (`/proxy`), so
/// `Sec-Fetch-Site` is checked, too.
#[must_use]
pub fn is_same_origin(headers: &HeaderMap) -> bool {
    if headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
        return false;
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let origin_host = text(origin).and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    let host = headers.get(header::HOST).and_then(text);
    matches!((origin_host, host), (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host))
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()
}

/// The host names of this service. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<BTreeSet<String>>);

impl Hosts {
    /// Returns `None` if one of the names isn't a host name.
    #[must_use]
    pub fn new<T: AsRef<str>>(names: &[T]) -> Option<Self> {
        // Refuses patterns such as `*.example`, which would match nothing.
        let is_plain = |name: &str| name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.:[]".contains(&c));
        let name = |name: &T| {
            let authority: Authority = name.as_ref().parse().ok().filter(|_| is_plain(name.as_ref()))?;
            let name = plain(authority.host());
            (authority.as_str() == authority.host() && !name.is_empty()).then_some(name)
        };
        names.iter().map(name).collect::<Option<_>>().map(|names| Self(Arc::new(names)))
    }

    /// Returns whether a request names this service by an address, `localhost` or a configured name. If keys are
    /// configured, every name is allowed, because a page of another origin has no key. The authority in the request
    /// line, or of HTTP/2, is checked like `Host`.
    #[must_use]
    pub fn allow(&self, keys: &ApiKeys, uri: &Uri, headers: &HeaderMap) -> bool {
        let has = |host: &Authority| self.has(host.host());
        let has_field =
            |host: &HeaderValue| is_socket(host) || Authority::try_from(host.as_bytes()).is_ok_and(|host| has(&host));
        !keys.is_empty() || (headers.get_all(header::HOST).iter().all(has_field) && uri.authority().is_none_or(has))
    }

    fn has(&self, host: &str) -> bool {
        let host = plain(host);
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_address = bracketed.map_or_else(|| host.parse::<IpAddr>().is_ok(), |v6| v6.parse::<Ipv6Addr>().is_ok());
        is_address || host == "localhost" || host.ends_with(".localhost") || self.0.contains(&host)
    }
}

/// Whether this is an address with a port, which is allowed without parsing it as an authority.
fn is_socket(host: &HeaderValue) -> bool {
    text(host).is_some_and(|host| host.parse::<SocketAddr>().is_ok())
}

fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use http::HeaderName;

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
    fn an_invalid_host_name_is_not_accepted_as_configured_name() {
        for name in ["*.example", "a*", "a:1", "a b", "", ".", "a/b", "me@a", "ä.example"] {
            assert!(Hosts::new(&[name]).is_none(), "{name}");
        }
        assert!(Hosts::new(&["a_b.example.", "A-1", "[::1]", "192.0.2.1"]).is_some());
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

    #[test]
    fn requests_from_pages_of_other_origins_are_refused() {
        let check = |pairs: &[(&str, &str)]| {
            let header = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            is_same_origin(&pairs.iter().map(header).collect())
        };
        assert!(check(&[("host", "a:7180")]));
        assert!(check(&[("host", "a:7180"), ("origin", "http://A:7180")]));
        assert!(!check(&[("host", "a:7180"), ("origin", "http://b:7180")]));
        assert!(!check(&[("host", "a:7180"), ("origin", "http://a")]));
        assert!(!check(&[("host", "a:7180"), ("origin", "null")]));
        assert!(!check(&[("origin", "http://a")]));
        assert!(check(&[("host", "a"), ("sec-fetch-site", "none")]));
        assert!(check(&[("host", "a"), ("origin", "http://a"), ("sec-fetch-site", "same-origin")]));
        for site in ["cross-site", "same-site"] {
            assert!(!check(&[("host", "a"), ("sec-fetch-site", site)]), "{site}");
        }
    }
}
