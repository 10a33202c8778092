//! Text of a fixed width.

/// At the left of as many columns; what is longer ends in `…`.
pub(super) fn left(text: &str, width: usize) -> String {
    format!("{:<width$}", cut(text, width))
}

/// At their right.
pub(super) fn right(text: &str, width: usize) -> String {
    format!("{:>width$}", cut(text, width))
}

pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width == 0 { kept } else { format!("{kept}…") }
}

/// Lines no wider than `width`; a word that is wider is cut.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(cut(word, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_says_so() {
        assert_eq!([left("ab", 4), right("ab", 4)], ["ab  ", "  ab"]);
        assert_eq!([left("abcdef", 4), right("abcdef", 4), cut("abc", 0)], ["abc…", "abc…", ""]);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("a bc def ghijkl", 6), ["a bc", "def", "ghijkl"]);
        assert_eq!(wrapped("abcdefgh i", 6), ["abcde…", "i"]);
    }
}
