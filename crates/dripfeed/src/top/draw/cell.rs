//! Text of a fixed width.

/// Pads the text on the right to `width` characters. A longer text is cut, and ends in `…`.
pub(super) fn left(text: &str, width: usize) -> String {
    format!("{:<width$}", cut(text, width))
}

/// As `left`, padded on the left.
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

/// Breaks the text between words into lines of at most `width` characters. A wider word is cut.
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
    fn a_text_that_is_too_long_is_cut_with_an_ellipsis() {
        assert_eq!([left("ab", 4), right("ab", 4)], ["ab  ", "  ab"]);
        assert_eq!([left("abcdef", 4), right("abcdef", 4), cut("abc", 0)], ["abc…", "abc…", ""]);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("a bc def ghijkl", 6), ["a bc", "def", "ghijkl"]);
        assert_eq!(wrapped("abcdefgh i", 6), ["abcde…", "i"]);
    }
}
