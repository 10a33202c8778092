//! Sizes in text form: `64MiB`, `512KiB`, `1GB`, `100B`. A unit is required.

use thiserror::Error;

const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// Regular expression of a size. It also matches numbers that are too large.
pub const PATTERN: &str = r"^\s*[0-9]+\s*([KMG]iB|kB|MB|GB|B)\s*$";

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a size: write a whole number and a unit, such as 512B, 64KiB, 16MiB or 1GB")]
pub struct BadSize(String);

/// Reads a size into bytes.
///
/// # Errors
/// For a number without a unit, an unknown unit, or a size beyond 64 bits.
pub fn parse(text: &str) -> Result<u64, BadSize> {
    let bad = || BadSize(text.chars().take(48).collect());
    let (digits, unit) =
        UNITS.iter().find_map(|(name, unit)| Some((text.trim().strip_suffix(name)?, unit))).ok_or_else(bad)?;
    let digits = digits.trim_end();
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(bad());
    }
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(*unit)).ok_or_else(bad)
}

/// Writes bytes in the largest binary unit that divides them, so that `parse` reads the same number back.
#[must_use]
pub fn show(bytes: u64) -> String {
    UNITS[..3]
        .iter()
        .rev()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| format!("{bytes}B"), |(name, unit)| format!("{}{name}", bytes / unit))
}

/// For `#[serde(with = "dripfeed_job::size::text")]`.
pub mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Serializes the size as [`show`](super::show) does.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::show(*bytes))
    }

    /// Deserializes the size with [`parse`](super::parse).
    ///
    /// # Errors
    /// As [`parse`](super::parse).
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        super::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_carry_units() {
        assert_eq!(parse("64MiB"), Ok(64 << 20));
        assert_eq!(parse("1 KiB"), Ok(1024));
        assert_eq!(parse("5kB"), Ok(5000));
        assert_eq!(parse("0B"), Ok(0));
    }

    #[test]
    fn what_has_no_unit_or_no_number_is_refused() {
        for text in ["", "64", "MiB", "-1B", "1.5MiB", "64mib", "99999999999GiB", "1e3B"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_shown_size_reads_back() {
        for bytes in [0, 1, 1000, 1024, 65_536, 64 << 20, 3 << 30] {
            assert_eq!(parse(&show(bytes)), Ok(bytes));
        }
        assert_eq!(show(64 << 20), "64MiB");
    }
}
