//! Error messages of parsers: what was expected, in the terms of the document.

/// The types of the program, and what a document has in their place.
const TYPES: [(&str, &str); 5] = [
    ("u64", "a whole number, 0 or more"),
    ("u32", "a whole number, 0 or more"),
    ("u16", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
    ("f64", "a number"),
];

/// A message of serde, with the type at its end put plainly.
#[must_use]
pub fn plain(message: &str) -> String {
    let put = |(name, plain): (&str, &str)| {
        let before = message.strip_suffix(name)?;
        before.ends_with("expected ").then(|| format!("{before}{plain}"))
    };
    TYPES.into_iter().find_map(put).unwrap_or_else(|| message.to_owned())
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
            ("invalid type: map, expected f64", "invalid type: map, expected a number"),
            ("invalid type: map, expected a string", "invalid type: map, expected a string"),
            ("unknown field `u64`", "unknown field `u64`"),
        ] {
            assert_eq!(plain(message), expected);
        }
    }
}
