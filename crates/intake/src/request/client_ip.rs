//! The client's IP address: the connection's, or the one in `X-Forwarded-For` of trusted proxies.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use dripfeed_http::Peer;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::intake::Intake;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// `None` if the request didn't come over a connection.
pub(crate) struct ClientIp(pub(crate) Option<IpAddr>);

impl FromRequestParts<Intake> for ClientIp {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Infallible> {
        Ok(Self::of(parts, intake))
    }
}

impl ClientIp {
    pub(crate) fn of(parts: &Parts, intake: &Intake) -> Self {
        Self::from_head(&parts.headers, &parts.extensions, intake)
    }

    pub(crate) fn from_head(headers: &HeaderMap, extensions: &Extensions, intake: &Intake) -> Self {
        let peer = extensions.get::<Peer>();
        Self(peer.map(|peer| client_behind(peer.0, headers, &intake.settings().trusted_proxies)))
    }
}

/// Each proxy appends its client's address to `X-Forwarded-For`. So the list is read from its end, as long as the proxy
/// that appended the entry is trusted; earlier entries may be forged.
fn client_behind(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    let mut caller = peer.to_canonical();
    for value in headers.get_all(FORWARDED_FOR).iter().rev() {
        for entry in value.to_str().unwrap_or_default().rsplit(',') {
            if !is_trusted(&caller) {
                return caller;
            }
            // A trusted proxy appends addresses; an unparsable entry ends the trusted part.
            let Some(before) = parse_entry(entry.trim()) else { return caller };
            caller = before;
        }
    }
    caller
}

/// Parses an address with or without a port, which some proxies add.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let address = bare.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|address| address.ip()))?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn caller(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        let headers = forwarded.iter().map(|value| (FORWARDED_FOR, value.parse().unwrap())).collect();
        client_behind(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn an_untrusted_peer_is_the_client() {
        assert_eq!(caller("192.0.2.1", &["198.51.100.7"], &[]), "192.0.2.1");
        assert_eq!(caller("192.0.2.1", &["198.51.100.7"], &["10.0.0.0/8"]), "192.0.2.1");
        assert_eq!(caller("::ffff:192.0.2.1", &[], &[]), "192.0.2.1");
    }

    #[test]
    fn a_trusted_proxy_names_the_client() {
        let trusted = ["10.0.0.0/8", "fd00::/8"];
        for (peer, forwarded, expected) in [
            ("10.0.0.1", &["198.51.100.7"][..], "198.51.100.7"),
            ("::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("fd00::1", &["2001:db8::7"], "2001:db8::7"),
            ("10.0.0.1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("10.0.0.1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("10.0.0.1", &["[2001:db8::7]"], "2001:db8::7"),
            ("10.0.0.1", &["198.51.100.7, 10.0.0.2, fd00::3"], "198.51.100.7"),
            ("10.0.0.1", &["198.51.100.7", "10.0.0.2"], "198.51.100.7"),
            ("10.0.0.1", &["10.0.0.3"], "10.0.0.3"),
            ("10.0.0.1", &[], "10.0.0.1"),
        ] {
            assert_eq!(caller(peer, forwarded, &trusted), expected, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn forged_entries_are_ignored() {
        let trusted = ["10.0.0.0/8"];
        for (forwarded, expected) in [
            ("203.0.113.9, 198.51.100.7", "198.51.100.7"),
            ("10.0.0.9, 198.51.100.7", "198.51.100.7"),
            ("198.51.100.7, unknown", "10.0.0.1"),
            ("198.51.100.7,", "10.0.0.1"),
            ("203.0.113.9, nonsense, 10.0.0.2", "10.0.0.2"),
        ] {
            assert_eq!(caller("10.0.0.1", &[forwarded], &trusted), expected, "{forwarded}");
        }
    }
}
