//! `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), serialized as RFC 9651 has it.

use std::cmp::Reverse;

use http::{HeaderName, HeaderValue};
use sfv::{Integer, ListSerializer, StringRef, key_ref, string_ref};

/// A header field.
pub type Field = (HeaderName, HeaderValue);

/// A limit as the two fields express it.
#[derive(Clone, Copy, Debug)]
pub struct Quota<'q> {
    pub name: &'q str,
    pub most: u64,
    pub window: Window,
    pub left: u64,
    /// Seconds until there is more.
    pub reset_s: Option<u64>,
}

/// What `most` is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// A window of this many seconds.
    Seconds(u64),
    /// What is in use at once.
    AtOnce,
    /// Nothing that the fields have a word for.
    Unnamed,
}

/// Of a field with one quota.
const FIELD_BYTES: usize = 64;

/// Of each of the two fields: many proxies refuse a response with more than 4 KiB of fields.
const MOST_BYTES: usize = 2048;

/// The most that a quota takes in a field besides its name.
const PARAMETER_BYTES: usize = 48;

/// Both fields; none without quotas. A number that no structured field holds is reported as the largest that one does.
/// Of more quotas than fit into a response, those with the least left are reported.
#[must_use]
pub fn fields<'q>(quotas: impl IntoIterator<Item = Quota<'q>>) -> Vec<Field> {
    let quotas = that_fit(quotas.into_iter().collect());
    let (mut policy, mut limit) = (String::with_capacity(FIELD_BYTES), String::with_capacity(FIELD_BYTES));
    let (mut policies, mut limits) =
        (ListSerializer::with_buffer(&mut policy), ListSerializer::with_buffer(&mut limit));
    for quota in quotas {
        let Ok(name) = StringRef::from_str(quota.name) else { continue };
        let policy = policies.bare_item(name).parameter(key_ref("q"), integer(quota.most));
        match quota.window {
            Window::Seconds(seconds) => policy.parameter(key_ref("w"), integer(seconds)).finish(),
            Window::AtOnce => policy.parameter(key_ref("qu"), string_ref("concurrent-requests")).finish(),
            Window::Unnamed => policy.finish(),
        };
        let limit = limits.bare_item(name).parameter(key_ref("r"), integer(quota.left));
        match quota.reset_s {
            Some(seconds) => limit.parameter(key_ref("t"), integer(seconds)).finish(),
            None => limit.finish(),
        };
    }
    let (Some(_), Some(_)) = (policies.finish(), limits.finish()) else { return Vec::new() };
    let field = |name, list: String| Some((HeaderName::from_static(name), list.try_into().ok()?));
    [field("ratelimit-policy", policy), field("ratelimit", limit)].into_iter().flatten().collect()
}

fn that_fit(quotas: Vec<Quota<'_>>) -> Vec<Quota<'_>> {
    let bytes = |quota: &Quota<'_>| quota.name.len() + PARAMETER_BYTES;
    if quotas.iter().map(bytes).sum::<usize>() <= MOST_BYTES {
        return quotas;
    }
    let mut places: Vec<(usize, Quota<'_>)> = quotas.into_iter().enumerate().collect();
    places.sort_by_key(|(_, quota)| (quota.left, Reverse(quota.reset_s)));
    let mut room = MOST_BYTES;
    places.retain(|(_, quota)| match room.checked_sub(bytes(quota)) {
        Some(rest) => {
            room = rest;
            true
        }
        None => false,
    });
    places.sort_by_key(|(place, _)| *place);
    places.into_iter().map(|(_, quota)| quota).collect()
}

fn integer(number: u64) -> Integer {
    i64::try_from(number).ok().and_then(|number| Integer::try_from(number).ok()).unwrap_or(Integer::MAX)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use sfv::{List, Parser};

    use super::*;

    #[test]
    fn no_number_is_too_large_for_a_structured_field() {
        for number in [0, 999_999_999_999_999, 1_000_000_000_000_000, u64::MAX] {
            let (window, reset_s) = (Window::Seconds(number), Some(number));
            let fields = fields([Quota { name: "a", most: number, window, left: number, reset_s }]);
            assert_eq!(fields.len(), 2);
            for (_, value) in fields {
                let list: List = Parser::new(value.as_bytes()).parse().unwrap();
                assert_eq!(list.len(), 1);
            }
        }
        assert!(fields([]).is_empty());
    }

    #[test]
    fn of_more_quotas_than_a_response_holds_those_with_the_least_left_are_reported() {
        let names: Vec<String> = (0..1_600).map(|n| format!("{n}-{}", "x".repeat(n % 60))).collect();
        let quota = |(n, name): (usize, &'static str)| {
            let left = if n % 200 == 7 { 0 } else { 9 };
            Quota { name, most: 10, window: Window::Seconds(u64::MAX), left, reset_s: Some(u64::MAX) }
        };
        let names = names.into_iter().map(|name| &*name.leak()).enumerate();
        let fields = fields(names.map(quota));
        assert_eq!(fields.len(), 2);
        for (name, value) in fields {
            assert!(name.as_str().len() + value.len() < 2_100, "{} bytes", value.len());
            let list: List = Parser::new(value.as_bytes()).parse().unwrap();
            let shown = format!("{list:?}");
            assert!((0..8).all(|n| shown.contains(&format!("\"{}-x", 7 + 200 * n))), "{shown}");
        }
    }
}
