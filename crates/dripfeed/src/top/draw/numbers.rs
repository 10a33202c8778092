//! Numbers that fit into a column.

/// `9999`, `12k`, `3.4M`
pub(super) fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1000),
        1_000_000..10_000_000 => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// What doesn't happen is `0`, and what isn't known `–`.
pub(super) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_short() {
        let shown = [0, 9999, 10_000, 999_999, 1_250_000, 25_000_000].map(short);
        assert_eq!(shown, ["0", "9999", "10k", "999k", "1.2M", "25M"]);
    }
}
