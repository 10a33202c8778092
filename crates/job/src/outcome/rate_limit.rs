//! Parses the `RateLimit` header of upstreams (IETF draft, RFC 9651 syntax): `"policy";r=0;t=10`.

use std::time::Duration;

use sfv::{BareItem, Item, List, ListEntry, Parser};

/// Returns how long the quota is used up (`r=0`): the longest time of all policies. Returns `None` if no policy is used
/// up, or the value can't be parsed. The caller limits it.
#[must_use]
pub fn exhausted_for(value: &str) -> Option<Duration> {
    let policies: List = Parser::new(value).parse().ok()?;
    policies.iter().filter_map(|policy| if let ListEntry::Item(item) = policy { used_up(item) } else { None }).max()
}

fn used_up(policy: &Item) -> Option<Duration> {
    let number = |name| match policy.params.get(name)? {
        BareItem::Integer(number) => u64::try_from(i64::from(*number)).ok(),
        _ => None,
    };
    (number("r")? == 0).then(|| number("t").map(Duration::from_secs))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_that_is_used_up_says_until_when() {
        let seconds = |value| exhausted_for(value).map(|wait| wait.as_secs());
        assert_eq!(seconds(r#""default";r=0;t=10"#), Some(10));
        assert_eq!(seconds(r#""burst";r=0;t=1, "day";r=0;t=3600, "hour";r=5;t=9000"#), Some(3600));
        assert_eq!(seconds(r#""default";r=50;t=30"#), None);
        assert_eq!(seconds(r#""default";r=0"#), None);
        assert_eq!(seconds(r#""default";r=0;t=999999999999999"#), Some(999_999_999_999_999));
    }

    #[test]
    fn nonsense_says_nothing() {
        for value in [
            "",
            "0",
            "r=0;t=10",
            "\"a\";r=0;t=-1",
            "\"a\";r=0;t=soon",
            "\"a\";r=-1;t=9",
            "(\"a\");r=0;t=1",
            "\"a\";r=0;t=9999999999999999",
            "limit=100, remaining=0, reset=10",
            "\"a;r=0;t=1",
            "\u{e9}",
            ";;;",
        ] {
            assert_eq!(exhausted_for(value), None, "{value:?}");
        }
    }
}
