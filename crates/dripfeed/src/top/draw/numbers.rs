//! Numbers that fit into a column.

use dripfeed_dashboard::frame::numbers;

/// `9999`, `12k`, `3.4M`
pub(super) fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1000),
        1_000_000..10_000_000 => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// `0.4`, `999`, `9999`, `12k`
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^53, and not negative")]
pub(super) fn short_rate(per_second: f64) -> String {
    if per_second < 999.5 { numbers::rate(per_second) } else { short(per_second.round() as u64) }
}

/// Returns `–` for an unknown value.
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
        let rates = [0.0, 0.4, 999.4, 1999.0, 12_345.6].map(short_rate);
        assert_eq!(rates, ["0", "0.4", "999", "1999", "12k"]);
    }
}
