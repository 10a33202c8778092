//! Quotes text for a shell.

/// Returns the text as one word of a command, quoted if needed.
pub(super) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_metacharacters_are_quoted() {
        for plain in ["/tmp/a/redis.sock", "redis://127.0.0.1:6379/0", "./dripfeed"] {
            assert_eq!(shell_word(plain), plain);
        }
        for (text, word) in [("/my data/x", "'/my data/x'"), ("it's", r"'it'\''s'"), ("a?b", "'a?b'"), ("", "''")] {
            assert_eq!(shell_word(text), word);
        }
    }
}
