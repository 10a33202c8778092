//! The address of the API for visitors, in commands and links.

use std::net::SocketAddr;

use http::header::{HOST, REFERER};
use http::request::Parts;
use http::uri::Authority;

const DEFAULT_HOST: &str = "127.0.0.1:7180";

/// Where the API listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApiPlace {
    /// Whether browsers reach dashboard and API only over TLS.
    pub has_tls: bool,
    /// The address of the API, if it isn't that of the dashboard.
    pub apart: Option<SocketAddr>,
}

/// The address of the API for one visitor's browser.
#[derive(Clone, Default)]
pub(crate) struct ApiAddress {
    origin: String,
    is_apart: bool,
}

impl ApiPlace {
    pub(crate) fn seen_by(self, parts: &Parts) -> ApiAddress {
        let host = host(parts);
        let is_https = self.has_tls || (self.apart.is_none() && is_behind_tls(parts, host));
        let scheme = if is_https { "https" } else { "http" };
        let authority = self.apart.map_or_else(|| host.to_owned(), |address| authority(address, host));
        ApiAddress { origin: format!("{scheme}://{authority}"), is_apart: self.apart.is_some() }
    }
}

impl ApiAddress {
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn link(&self, path: &str) -> String {
        if self.is_apart { format!("{}{path}", self.origin) } else { path.to_owned() }
    }
}

fn host(parts: &Parts) -> &str {
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    host.or_else(|| parts.uri.authority().map(Authority::as_str)).unwrap_or(DEFAULT_HOST)
}

/// Whether a proxy terminates TLS: then the visitor comes from a page of this host over TLS.
fn is_behind_tls(parts: &Parts, host: &str) -> bool {
    let from = parts.headers.get(REFERER).and_then(|referer| referer.to_str().ok()).unwrap_or_default();
    from.strip_prefix("https://").and_then(|from| from.strip_prefix(host)).is_some_and(|path| path.starts_with('/'))
}

/// The host and port of the API. If it listens on all addresses, the host is that of the page.
fn authority(address: SocketAddr, host: &str) -> String {
    match host.parse::<Authority>() {
        Ok(page) if address.ip().is_unspecified() => format!("{}:{}", page.host(), address.port()),
        _ => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use http::Request;

    use super::*;

    fn seen(has_tls: bool, apart: Option<&str>, host: &str, referer: &str) -> (String, String) {
        let request = Request::get("/").header(HOST, host).header(REFERER, referer);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let place = ApiPlace { has_tls, apart: apart.map(|address| address.parse().unwrap()) };
        let address = place.seen_by(&parts);
        (address.origin().to_owned(), address.link("/docs/"))
    }

    #[test]
    fn beside_the_page_it_is_where_the_page_is() {
        for (has_tls, referer, origin) in [
            (false, "", "http://queue:7180"),
            (true, "", "https://queue:7180"),
            (true, "http://queue:7180/", "https://queue:7180"),
            // A proxy before it has TLS.
            (false, "https://queue:7180/redis", "https://queue:7180"),
            (false, "https://elsewhere/queue:7180/", "http://queue:7180"),
            (false, "https://queue:71800/", "http://queue:7180"),
        ] {
            let expected = (origin.to_owned(), "/docs/".to_owned());
            assert_eq!(seen(has_tls, None, "queue:7180", referer), expected, "{referer}");
        }
    }

    #[test]
    fn apart_from_the_page_it_is_where_it_listens() {
        for (has_tls, listens, host, origin) in [
            (false, "127.0.0.1:7180", "localhost:7183", "http://127.0.0.1:7180"),
            (true, "10.0.0.7:7180", "queue:7183", "https://10.0.0.7:7180"),
            (false, "0.0.0.0:7180", "queue:7183", "http://queue:7180"),
            (false, "[::]:7180", "[::1]:7183", "http://[::1]:7180"),
            (false, "[::1]:7180", "queue", "http://[::1]:7180"),
        ] {
            let expected = (origin.to_owned(), format!("{origin}/docs/"));
            assert_eq!(seen(has_tls, Some(listens), host, ""), expected, "{listens} {host}");
        }
    }
}
