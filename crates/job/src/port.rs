//! The port of a URL.

use http::Uri;

/// Returns whether the URL has no port, or a valid one. `http` accepts any text as a port and ignores what isn't a
/// number up to 65535, so that connections would use the default port.
#[must_use]
pub fn is_usable(url: &Uri) -> bool {
    let Some(authority) = url.authority() else { return true };
    let place = authority.as_str().rsplit('@').next().unwrap_or_default();
    let port = place.strip_prefix(authority.host()).unwrap_or_default();
    port.is_empty() || authority.port_u16().is_some_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_port_is_a_number_from_1_to_65535_or_left_out() {
        let usable = |authority: &str| format!("http://{authority}/x").parse::<Uri>().is_ok_and(|url| is_usable(&url));
        for authority in ["h", "h:1", "h:65535", "127.0.0.1:80", "[::1]", "[::1]:8080", "u:p@h", "u@h:80"] {
            assert!(usable(authority), "{authority}");
        }
        for authority in ["h:", "h:0", "h:65536", "h:99999", "h:-1", "h:80x", "[::1]:x", "[::1]:", "u:1@h:99999"] {
            assert!(!usable(authority), "{authority}");
        }
        assert!(is_usable(&"/path".parse().unwrap()));
    }
}
