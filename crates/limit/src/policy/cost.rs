//! The cost of a request.

use http::HeaderName;

use crate::policy::request::Request;

/// The cost of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for all requests; 0 counts nothing.
    Constant(u64),
    /// The number in a header. It is 1 without the header, or if that isn't a whole number of at least 1, because
    /// callers must not be able to make requests free.
    Header(HeaderName),
}

impl Default for Cost {
    fn default() -> Self {
        Self::Constant(1)
    }
}

impl Cost {
    pub(crate) fn of(&self, request: &Request<'_>) -> u64 {
        request.cost.unwrap_or_else(|| match self {
            Self::Constant(cost) => *cost,
            Self::Header(name) => request.header(name).map_or(1, read),
        })
    }
}

/// A number with more digits than a u64 is the maximum.
fn read(text: &str) -> u64 {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if digits { text.parse().unwrap_or(u64::MAX).max(1) } else { 1 }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn cost(value: Option<&'static str>) -> u64 {
        let mut headers = HeaderMap::new();
        if let Some(value) = value {
            headers.insert("x-cost", HeaderValue::from_static(value));
        }
        let header = Cost::Header(HeaderName::from_static("x-cost"));
        header.of(&Request { headers: Some(&headers), ..Request::new("GET", "/") })
    }

    #[test]
    fn a_header_tells_the_cost_and_never_makes_it_nothing() {
        assert_eq!(cost(Some("7")), 7);
        for value in ["0", "-3", "1.5", "many", ""] {
            assert_eq!(cost(Some(value)), 1, "{value:?}");
        }
        assert_eq!(cost(None), 1);
        assert_eq!(cost(Some("99999999999999999999999")), u64::MAX);
    }

    #[test]
    fn the_cost_that_is_told_with_a_request_wins() {
        let request = Request { cost: Some(0), ..Request::new("GET", "/") };
        assert_eq!(Cost::Constant(5).of(&request), 0);
    }
}
