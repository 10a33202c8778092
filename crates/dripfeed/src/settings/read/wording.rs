//! Rewords serde's errors in terms of the configuration, with what to do.

use dripfeed_job::expected;
use toml::value::Datetime;

use crate::did_you_mean::suggestion;

/// Serde's words for expected types, and ours.
const EXPECTED: [(&str, &str); 5] = [
    ("a string", "a string in quotes"),
    ("path string", "a path in quotes"),
    ("a boolean", "true or false"),
    ("a list", "a list in brackets"),
    ("an object", "a table"),
];

/// Rewords an error. `values`: the allowed values if the setting is an enumeration and the value isn't a text.
pub(in crate::settings) fn plain(message: &str, values: Option<&str>) -> String {
    let message = expected::plain(message);
    let split = |prefix| message.strip_prefix(prefix).and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((name, list)) = message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected ")) {
        let quoted = list.split('`').skip(1).step_by(2);
        return format!("unknown key{}: use {}", suggestion(name.trim_matches('`'), quoted), known(list));
    }
    if let Some((value, list)) = unknown_variant(&message) {
        return format!("{value} is not a valid value: use {}", known(list));
    }
    if let Some((found, expected)) =
        split("invalid type: ").or_else(|| split("invalid value: ")).or_else(|| split("invalid length "))
    {
        let shown = shown(found);
        if let Some(values) = values {
            return format!("{shown} is not a valid value: use {}, in quotes", known(values));
        }
        let plain = EXPECTED.into_iter().find_map(|(name, plain)| (name == expected).then_some(plain));
        let expected = plain.unwrap_or(expected);
        let expected =
            expected.strip_prefix("an object of ").map_or_else(|| expected.into(), |keys| format!("a table of {keys}"));
        let hint = if expected.starts_with("a whole number") { whole_number(found) } else { None };
        return format!("must be {expected}, not {shown}{}", hint.unwrap_or_default());
    }
    match message.strip_prefix("missing field ") {
        Some(field) => format!("the key {field} is missing"),
        None if message == "not an object" => "must be a table".to_owned(),
        None => message,
    }
}

/// The invalid value, and the list of valid ones.
pub(in crate::settings) fn unknown_variant(message: &str) -> Option<(&str, &str)> {
    message.strip_prefix("unknown value ")?.split_once(", expected ")
}

fn known(list: &str) -> String {
    list.trim_start_matches("one of ").replace('`', "")
}

/// Formats the value that serde found. Texts aren't shown, because they may be secrets in the wrong place, except those
/// for TOML values that have no JSON type.
fn shown(found: &str) -> &str {
    match found {
        "map" => "a table",
        "sequence" => "a list",
        "null" | "unit value" | "unit" => "empty",
        // TOML's spelling.
        _ if text(found) == Some("NaN") => "nan",
        _ if found.starts_with("string") => text(found).filter(|text| is_toml_value(text)).unwrap_or("a string"),
        // Serde shows a list by its length.
        _ if found.chars().all(|c| c.is_ascii_digit()) => "a list",
        _ => found.split_once('`').map_or(found, |(_, value)| value.trim_end_matches('`')),
    }
}

fn text(found: &str) -> Option<&str> {
    found.strip_prefix("string \"")?.strip_suffix('"')
}

/// Whether this is a date, a time, or a non-finite number, which are texts in JSON.
fn is_toml_value(text: &str) -> bool {
    matches!(text, "inf" | "-inf") || text.parse::<Datetime>().is_ok()
}

/// A hint for a whole number in quotes or with a fraction of 0.
fn whole_number(found: &str) -> Option<String> {
    if text(found).is_some_and(|text| text.parse::<u64>().is_ok()) {
        return Some(": remove the quotes".to_owned());
    }
    let number = found.strip_prefix("floating point `")?.strip_suffix('`')?.strip_suffix(".0")?;
    number.parse::<u64>().ok().map(|number| format!(": write {number}"))
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
            (
                "unknown field `ulr`, expected one of `url`, `prefix`",
                "unknown key (did you mean url?): use url, prefix",
            ),
            ("unknown variant `a`, expected one of `b`, `c`, `d`", "`a` is not a valid value: use b, c, d"),
        ] {
            assert_eq!(plain(message, None), expected);
        }
        let message = "invalid type: floating point `1.5`, expected string or map";
        assert_eq!(plain(message, Some("`b` or `c`")), "1.5 is not a valid value: use b or c, in quotes");
    }
}
