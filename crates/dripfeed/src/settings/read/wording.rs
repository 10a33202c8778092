//! The words of serde's errors, turned into what to do where they only say what is wrong.

use dripfeed_job::expected;

/// What serde says was expected, and what a person writes.
const EXPECTED: [(&str, &str); 5] = [
    ("a string", "a string in quotes"),
    ("path string", "a path in quotes"),
    ("a boolean", "true or false"),
    ("a list", "a list in brackets"),
    ("an object", "a table"),
];

/// Put plainly. `values`: those of the setting, if there are few and the value isn't of their type.
pub(in crate::settings) fn plain(message: &str, values: Option<&str>) -> String {
    let message = expected::plain(message);
    let split = |prefix| message.strip_prefix(prefix).and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((_, list)) = message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected ")) {
        return format!("unknown key: use {}", known(list));
    }
    if let Some((value, list)) = unknown_variant(&message) {
        return format!("{value} is not a valid value: use {}", known(list));
    }
    if let Some((found, expected)) =
        split("invalid type: ").or_else(|| split("invalid value: ")).or_else(|| split("invalid length "))
    {
        let found = shown(found);
        if let Some(values) = values {
            return format!("{found} is not a valid value: use {}, in quotes", known(values));
        }
        let plain = EXPECTED.into_iter().find_map(|(name, plain)| (name == expected).then_some(plain));
        let expected = plain.unwrap_or(expected);
        let expected =
            expected.strip_prefix("an object of ").map_or_else(|| expected.into(), |keys| format!("a table of {keys}"));
        return format!("must be {expected}, not {found}");
    }
    match message.strip_prefix("missing field ") {
        Some(field) => format!("the key {field} is missing"),
        None if message == "not an object" => "must be a table".to_owned(),
        None => message,
    }
}

/// The value, and a list of those that there are.
pub(in crate::settings) fn unknown_variant(message: &str) -> Option<(&str, &str)> {
    message.strip_prefix("unknown variant ")?.split_once(", expected ")
}

fn known(list: &str) -> String {
    list.trim_start_matches("one of ").replace('`', "")
}

/// Any text may be a secret at the wrong place.
fn shown(found: &str) -> &str {
    match found {
        "map" => "a table",
        "sequence" => "a list",
        "null" | "unit value" | "unit" => "empty",
        _ if found.starts_with("string") => "a string",
        // The number of its items.
        _ if found.chars().all(|c| c.is_ascii_digit()) => "a list",
        _ => found.split_once('`').map_or(found, |(_, value)| value.trim_end_matches('`')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_named_as_it_is_written() {
        for (message, expected) in [
            ("invalid type: integer `3`, expected a string", "must be a string in quotes, not 3"),
            ("invalid type: map, expected a boolean", "must be true or false, not a table"),
            ("invalid type: string \"canary\", expected a sequence", "must be a list in brackets, not a string"),
            ("invalid length 0, expected a table", "must be a table, not a list"),
            ("unknown field `a`, expected `b` or `c`", "unknown key: use b or c"),
            ("unknown variant `a`, expected one of `b`, `c`, `d`", "`a` is not a valid value: use b, c, d"),
        ] {
            assert_eq!(plain(message, None), expected);
        }
        let message = "invalid type: floating point `1.5`, expected string or map";
        assert_eq!(plain(message, Some("`b` or `c`")), "1.5 is not a valid value: use b or c, in quotes");
    }
}
