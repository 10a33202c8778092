//! Numbers of things in text form.

/// `1 job`, `2 jobs`: for a noun whose plural ends with an s.
#[must_use]
pub fn counted(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!(
            [0, 1, 2].map(|number| counted(number, "dead letter")),
            ["0 dead letters", "1 dead letter", "2 dead letters"]
        );
    }
}
