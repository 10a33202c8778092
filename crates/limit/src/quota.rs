//! `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), as RFC 9651 serializes them.
//!
//! Every response to a limited call has these headers. So the text of a limit's policy is formatted once, and no
//! serializer of structured fields is used, which takes several times as long. The tests compare both.

use std::borrow::Cow;
use std::cmp::Reverse;

use http::{HeaderName, HeaderValue};

/// A header field.
pub type Field = (HeaderName, HeaderValue);

/// The largest integer of a structured field.
const LARGEST: u64 = 999_999_999_999_999;

/// A limit as an item of `RateLimit-Policy`: `"name";q=10;w=60`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaPolicy {
    item: String,
    /// The length of the name in `item`.
    name: usize,
}

/// The remaining quota of a limit.
#[derive(Clone, Copy, Debug)]
pub struct Quota<'q> {
    pub policy: &'q QuotaPolicy,
    pub left: u64,
    /// Seconds until more is available.
    pub reset_s: Option<u64>,
}

/// The window of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// A window of this many seconds.
    Seconds(u64),
    /// Without a window: the limit is for concurrent use.
    AtOnce,
    /// A window that can't be expressed in the headers.
    Unnamed,
}

/// Usual size of a header with one quota.
const FIELD_BYTES: usize = 64;

/// Maximum size of each of the two headers, as many proxies refuse responses with more than 4 KiB of headers.
const MOST_BYTES: usize = 2048;

/// Maximum size of a quota in a header without its name.
const PARAMETER_BYTES: usize = 48;

impl QuotaPolicy {
    /// Numbers above the maximum of structured fields are reported as that maximum.
    #[must_use]
    pub fn new(name: &str, most: u64, window: Window) -> Self {
        let mut item = String::with_capacity(FIELD_BYTES);
        push_string(&mut item, name);
        let name = item.len();
        push_integer(&mut item, ";q=", most);
        match window {
            Window::Seconds(seconds) => push_integer(&mut item, ";w=", seconds),
            Window::AtOnce => item.push_str(";qu=\"concurrent-requests\""),
            Window::Unnamed => {}
        }
        Self { item, name }
    }
}

/// Returns both headers; none without quotas. If not all quotas fit, those with the least left are reported.
#[must_use]
pub fn fields(quotas: &[Quota<'_>]) -> Vec<Field> {
    if quotas.is_empty() {
        return Vec::new();
    }
    let bytes = quotas.len() * FIELD_BYTES;
    let (mut policies, mut limits) = (String::with_capacity(bytes), String::with_capacity(bytes));
    for Quota { policy, left, reset_s } in &*that_fit(quotas) {
        if !policies.is_empty() {
            policies.push_str(", ");
            limits.push_str(", ");
        }
        policies.push_str(&policy.item);
        limits.push_str(&policy.item[..policy.name]);
        push_integer(&mut limits, ";r=", *left);
        reset_s.iter().for_each(|seconds| push_integer(&mut limits, ";t=", *seconds));
    }
    let names = const { [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")] };
    names.into_iter().zip([policies, limits]).filter_map(|(name, list)| Some((name, list.try_into().ok()?))).collect()
}

/// Omits characters that aren't allowed in strings of structured fields.
fn push_string(field: &mut String, text: &str) {
    field.push('"');
    for character in text.chars().filter(|character| matches!(character, ' '..='~')) {
        if matches!(character, '"' | '\\') {
            field.push('\\');
        }
        field.push(character);
    }
    field.push('"');
}

fn push_integer(field: &mut String, parameter: &str, number: u64) {
    field.push_str(parameter);
    field.push_str(itoa::Buffer::new().format(number.min(LARGEST)));
}

fn that_fit<'q, 'p>(quotas: &'q [Quota<'p>]) -> Cow<'q, [Quota<'p>]> {
    let bytes = |quota: &Quota<'_>| quota.policy.name + PARAMETER_BYTES;
    if quotas.iter().map(bytes).sum::<usize>() <= MOST_BYTES {
        return quotas.into();
    }
    let mut places: Vec<(usize, Quota<'_>)> = quotas.iter().copied().enumerate().collect();
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use sfv::{List, ListSerializer, Parser};

    use super::*;

    fn parsed(value: &HeaderValue) -> List {
        Parser::new(value.as_bytes()).parse().unwrap()
    }

    #[test]
    fn the_fields_are_written_as_by_a_serializer_of_structured_fields() {
        let window = [Window::Seconds(7), Window::AtOnce, Window::Unnamed];
        let numbers = [0, 9, 999_999_999_999_999, 1_000_000_000_000_000, u64::MAX];
        for (window, number) in window.into_iter().flat_map(|window| numbers.map(|number| (window, number))) {
            let names = ["a", "a.b_c:1", r#"a "quoted\name" "#, "né\n", ""];
            let policies = names.map(|name| QuotaPolicy::new(name, number, window));
            let reset_s = Some(number).filter(|number| *number > 0);
            let quotas = policies.each_ref().map(|policy| Quota { policy, left: number, reset_s });
            let fields = fields(&quotas);
            assert_eq!(fields.len(), 2);
            for (_, value) in fields {
                let list = parsed(&value);
                assert_eq!(list.len(), names.len());
                let mut again = ListSerializer::new();
                again.members(&list);
                assert_eq!(again.finish().unwrap(), value.to_str().unwrap());
            }
        }
        assert!(fields(&[]).is_empty());
    }

    #[test]
    fn of_more_quotas_than_a_response_holds_those_with_the_least_left_are_reported() {
        let name = |n: usize| format!("{n}-{}", "x".repeat(n % 60));
        let policies: Vec<_> = (0..1_600).map(|n| QuotaPolicy::new(&name(n), 10, Window::Seconds(u64::MAX))).collect();
        let left = |n| if n % 200 == 7 { 0 } else { 9 };
        let quotas = policies.iter().enumerate();
        let quotas = quotas.map(|(n, policy)| Quota { policy, left: left(n), reset_s: Some(u64::MAX) });
        let fields = fields(&quotas.collect::<Vec<_>>());
        assert_eq!(fields.len(), 2);
        for (name, value) in fields {
            assert!(name.as_str().len() + value.len() < 2_100, "{} bytes", value.len());
            let shown = format!("{:?}", parsed(&value));
            assert!((0..8).all(|n| shown.contains(&format!("\"{}-x", 7 + 200 * n))), "{shown}");
        }
    }
}
