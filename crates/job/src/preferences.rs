//! The `Prefer` header (RFC 7240). The preference `wait` is for dripfeed; others, such as `return=minimal`, are for the
//! upstream.

use http::HeaderName;

pub const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Returns the seconds, as they were written, of the first `wait` preference in a value.
#[must_use]
pub fn wait(value: &str) -> Option<&str> {
    outside_quotes(value, b',').find_map(|preference| {
        // Parameters of a preference come after a semicolon; `wait` has none.
        let (name, value) = outside_quotes(preference, b';').next()?.split_once('=')?;
        is_wait(name).then(|| value.trim().trim_matches('"'))
    })
}

/// Returns the preferences for the upstream, if the value has any.
#[must_use]
pub fn for_upstream(value: &str) -> Option<String> {
    let is_ours = |preference: &&str| is_wait(preference.split(['=', ';']).next().unwrap_or_default());
    let others: Vec<&str> = outside_quotes(value, b',')
        .filter(|preference| !is_ours(preference) && !preference.trim().is_empty())
        .map(str::trim)
        .collect();
    (!others.is_empty()).then(|| others.join(", "))
}

fn is_wait(name: &str) -> bool {
    name.trim().eq_ignore_ascii_case("wait")
}

/// Splits a list at separators outside quoted strings.
fn outside_quotes(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c: char| {
        let is_escaped = escaped;
        escaped = quoted && !is_escaped && c == '\\';
        if c == '"' && !is_escaped {
            quoted = !quoted;
        }
        !quoted && c == char::from(separator)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_preferences_except_wait_are_forwarded() {
        for (value, left) in [
            ("wait=10", None),
            ("Wait = 10", None),
            ("wait", None),
            ("", None),
            ("return=minimal", Some("return=minimal")),
            ("respond-async, wait=5,return=minimal; x=y", Some("respond-async, return=minimal; x=y")),
            ("foo=\"a, wait=3; b\", wait=10", Some("foo=\"a, wait=3; b\"")),
            ("waiting=10", Some("waiting=10")),
        ] {
            assert_eq!(for_upstream(value).as_deref(), left, "{value}");
        }
    }
}
