//! The `Origin` check against cross-site request forgery.

use http::{HeaderMap, HeaderValue, header};

/// Whether a request comes from a page of this origin, or from no page. Browsers send `Origin` with every request that
/// may change something.
#[must_use]
pub fn is_same_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let host_of_origin = text(origin).and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    let host = headers.get(header::HOST).and_then(text);
    matches!((host_of_origin, host), (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host))
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use http::HeaderName;

    use super::*;

    #[test]
    fn only_pages_of_the_same_origin_pass() {
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
    }
}
