//! Patterns of upstreams that buckets created over the API may have.

use std::str::FromStr;

use dripfeed_job::port;
use http::Uri;
use thiserror::Error;

use crate::upstream::Upstream;

/// `https://api.example.com:8443`, or `https://*.example.com` for all names below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamPattern {
    scheme: String,
    host: HostPattern,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Is(String),
    /// Including the leading dot.
    EndsWith(String),
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{}` is not an upstream: use https://api.example.com or https://*.example.com, with an optional port",
    .0.escape_debug())]
pub struct BadUpstreamPattern(String);

impl UpstreamPattern {
    #[must_use]
    pub fn allows(&self, upstream: &Upstream) -> bool {
        let Some((scheme, host, port)) = origin(upstream.url()) else { return false };
        let is_host = match &self.host {
            HostPattern::Is(name) => host == *name,
            HostPattern::EndsWith(end) => host.len() > end.len() && host.ends_with(end),
        };
        is_host && scheme == self.scheme && port == self.port
    }
}

impl FromStr for UpstreamPattern {
    type Err = BadUpstreamPattern;

    fn from_str(text: &str) -> Result<Self, BadUpstreamPattern> {
        let bad = || BadUpstreamPattern(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        let (is_below, rest) = rest.strip_prefix("*.").map_or((false, rest), |rest| (true, rest));
        let url: Uri = format!("{scheme}://{rest}").parse().map_err(|_| bad())?;
        let (scheme, host, port) = origin(&url).ok_or_else(bad)?;
        let has_more = !matches!(url.path(), "" | "/") || url.query().is_some() || text.contains(['@', '#']);
        if has_more || host.contains('*') || is_below && host.starts_with('[') {
            return Err(bad());
        }
        let host = if is_below { HostPattern::EndsWith(format!(".{host}")) } else { HostPattern::Is(host) };
        Ok(Self { scheme, host, port })
    }
}

impl Upstream {
    /// Returns scheme, host and port, such as `https://api.example.com:8443`.
    #[must_use]
    pub fn origin(&self) -> String {
        origin(self.url()).map_or_else(String::new, |(scheme, host, port)| format!("{scheme}://{host}:{port}"))
    }
}

/// Scheme, host and port in normal form. Returns `None` if the URL has no host, or isn't `http` or `https`.
fn origin(url: &Uri) -> Option<(String, String, u16)> {
    let scheme = url.scheme_str()?;
    let default = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = url.host().filter(|host| !host.is_empty() && port::is_usable(url))?;
    Some((scheme.to_owned(), host.to_ascii_lowercase(), url.port_u16().unwrap_or(default)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::upstream::tests::settings;

    fn allows(pattern: &str, url: &str) -> bool {
        pattern.parse::<UpstreamPattern>().unwrap().allows(&Upstream::new(settings(url)).unwrap())
    }

    #[test]
    fn an_upstream_is_allowed_by_scheme_host_and_port() {
        for (pattern, url) in [
            ("https://api.example.com", "https://api.example.com/v1?x=1"),
            ("https://api.example.com", "https://API.example.com:443/"),
            ("https://api.example.com/", "https://api.example.com/"),
            ("https://*.example.com", "https://a.example.com/"),
            ("https://*.example.com", "https://a.b.example.com/"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000/feed"),
        ] {
            assert!(allows(pattern, url), "{pattern} {url}");
        }
    }

    #[test]
    fn nothing_else_passes_for_it() {
        for (pattern, url) in [
            ("https://api.example.com", "http://api.example.com/"),
            ("https://api.example.com", "https://api.example.com:8443/"),
            ("https://api.example.com", "https://api.example.com.evil.example/"),
            ("https://api.example.com", "https://xapi.example.com/"),
            ("https://*.example.com", "https://example.com/"),
            ("https://*.example.com", "https://evilexample.com/"),
            ("https://*.example.com", "https://a.example.com.evil.example/"),
            ("https://*.example.com", "https://a.example.com./"),
            ("https://*.example.com", "https://evil.example/.example.com"),
            ("https://*.example.com", "https://evil.example/?.example.com"),
        ] {
            assert!(!allows(pattern, url), "{pattern} {url}");
        }
    }

    #[test]
    fn what_is_no_upstream_is_refused() {
        for text in [
            "",
            "*",
            "api.example.com",
            "ftp://a.example",
            "https://a.example:99999",
            "https://",
            "https://a.*.example",
            "https://a@b.c",
            "https://a.example/path",
            "https://a.example?x",
            "https://**.example",
            "https://*.",
        ] {
            assert!(text.parse::<UpstreamPattern>().is_err(), "{text}");
        }
    }
}
