//! Error messages of parsers: what was expected, in the terms of the document.

/// Rust's types, and the terms for them in a document.
const TYPES: [(&str, &str); 11] = [
    ("u64", WHOLE),
    ("u32", WHOLE),
    ("u16", WHOLE),
    ("u8", WHOLE),
    ("usize", WHOLE),
    ("i64", "a whole number"),
    ("i32", "a whole number"),
    ("f64", "a number"),
    ("a nonzero u16", "1 to 65535"),
    ("a sequence", "a list"),
    ("a map", AN_OBJECT),
];
const WHOLE: &str = "a whole number, 0 or more";
const AN_OBJECT: &str = "an object";

/// Replaces Rust's types in an error message of serde.
#[must_use]
pub fn plain(message: &str) -> String {
    // An enum of Rust is a set of values in a document.
    let value = message.strip_prefix("unknown variant ").map(|rest| format!("unknown value {rest}"));
    let message = value.as_deref().unwrap_or(message);
    let Some((before, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let of_a_type = TYPES.into_iter().find_map(|(name, plain)| (name == expected).then_some(plain));
    // The name of a struct is one word.
    let is_struct = |name: &str| !name.contains(' ');
    let plain =
        of_a_type.or_else(|| expected.strip_prefix("struct ").filter(|name| is_struct(name)).map(|_| AN_OBJECT));
    plain.map_or_else(|| message.to_owned(), |plain| format!("{before}, expected {plain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_of_the_program_is_put_plainly() {
        for (message, expected) in [
            (
                "invalid type: string \"7\", expected u64",
                "invalid type: string \"7\", expected a whole number, 0 or more",
            ),
            ("invalid value: integer `0`, expected a nonzero u16", "invalid value: integer `0`, expected 1 to 65535"),
            ("invalid type: map, expected f64", "invalid type: map, expected a number"),
            ("invalid type: integer `1`, expected struct Edit", "invalid type: integer `1`, expected an object"),
            ("invalid type: integer `1`, expected a sequence", "invalid type: integer `1`, expected a list"),
            ("invalid type: map, expected a string", "invalid type: map, expected a string"),
            ("unknown field `u64`", "unknown field `u64`"),
            ("unknown variant `a`, expected `b` or `c`", "unknown value `a`, expected `b` or `c`"),
        ] {
            assert_eq!(plain(message), expected);
        }
    }
}
