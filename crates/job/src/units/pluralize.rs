//! A number with its noun in singular or plural.

/// Returns the number with its noun, `1 job` or `2 jobs`: for a noun whose plural ends with an s.
#[must_use]
pub fn pluralize(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_a_noun_in_the_singular() {
        assert_eq!(
            [0, 1, 2].map(|number| pluralize(number, "dead letter")),
            ["0 dead letters", "1 dead letter", "2 dead letters"]
        );
    }
}
