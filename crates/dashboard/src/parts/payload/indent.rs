//! Indented JSON. The order of members and all digits of numbers are kept.

const INDENT: &str = "  ";
/// Deeper lines aren't indented further, so that a text doesn't become many times as long.
const DEEPEST: usize = 16;

/// Indents `json`, which must be valid.
pub(super) fn indented(json: &str) -> String {
    let mut shown = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            shown.push(character);
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '{' | '[' => {
                shown.push(character);
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    shown.push(end);
                } else {
                    depth += 1;
                    new_line(&mut shown, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut shown, depth);
                shown.push(character);
            }
            ',' => {
                shown.push(',');
                new_line(&mut shown, depth);
            }
            ':' => shown.push_str(": "),
            blank if blank.is_ascii_whitespace() => {}
            _ => {
                in_string = character == '"';
                shown.push(character);
            }
        }
    }
    shown
}

fn new_line(shown: &mut String, depth: usize) {
    shown.push('\n');
    (0..depth.min(DEEPEST)).for_each(|_| shown.push_str(INDENT));
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn order_and_digits_stay() {
        let json = r#"{"b": 12345678901234567890123, "a":[1.50,{ }, [ ]],"c":"x\\\",{[: y"}"#;
        let lines = [
            "{",
            "  \"b\": 12345678901234567890123,",
            "  \"a\": [",
            "    1.50,",
            "    {},",
            "    []",
            "  ],",
            r#"  "c": "x\\\",{[: y""#,
            "}",
        ];
        assert_eq!(indented(json), lines.join("\n"));
        let parsed: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&indented(json)).unwrap(), parsed);
    }
}
