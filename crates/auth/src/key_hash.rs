//! The SHA-256 of a key. Only this is stored, not the key.

use sha2::{Digest as _, Sha256};

/// Returns the hash of a key.
#[must_use]
pub fn hash_of_key(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// Formats a hash as 64 hexadecimal digits.
#[must_use]
pub fn format_hash(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses 64 hexadecimal digits. The error doesn't show the input, because it may be the key.
///
/// # Errors
/// A text with the expected form.
pub fn parse_hash(digits: &str) -> Result<[u8; 32], String> {
    let bad = || "is not a SHA-256: use 64 hex digits, from printf %s \"$KEY\" | sha256sum".to_owned();
    let mut hash = [0; 32];
    if digits.len() != 64 || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
        return Err(bad());
    }
    for (byte, digits) in hash.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
    }
    if hash == hash_of_key(b"") {
        return Err("is the hash of an empty key: was $KEY set? Create a key with `dripfeed key new`".to_owned());
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_reads_back_in_either_case_and_nothing_else_does() {
        let hash = [0xab; 32];
        let digits = format_hash(&hash);
        assert_eq!((parse_hash(&digits), parse_hash(&digits.to_uppercase())), (Ok(hash), Ok(hash)));
        let of_nothing = format_hash(&hash_of_key(b""));
        for wrong in ["", &of_nothing, "secret", &digits[1..], &digits.replace('a', "g")] {
            assert!(parse_hash(wrong).is_err_and(|message| !message.contains("secret")), "{wrong}");
        }
    }
}
