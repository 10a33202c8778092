//! Splits Redis' protocol (RESP 2 and 3) into messages, in both directions.

use bytes::{Bytes, BytesMut};
use tokio_util::codec::Decoder;

/// The length of the message at the start of `bytes`; `None` while it is incomplete.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    // The number of values that are still missing.
    let mut wanted = 1_u64;
    while wanted > 0 {
        wanted -= 1;
        let rest = bytes.get(at..)?;
        let line = rest.iter().position(|byte| *byte == b'\n')? + 1;
        let (kind, number) = (rest[0], number(&rest[1..line]));
        at += line;
        match kind {
            b'$' | b'=' | b'!' => {
                if let Some(length) = number {
                    at += usize::try_from(length).ok()? + 2;
                }
            }
            b'*' | b'~' | b'>' => wanted += number.unwrap_or(0),
            b'%' => wanted += 2 * number.unwrap_or(0),
            // Attributes precede their value.
            b'|' => wanted += 2 * number.unwrap_or(0) + 1,
            _ => {}
        }
    }
    (at <= bytes.len()).then_some(at)
}

/// The number in a line `…\r\n`; `None` for -1, which stands for null, and for other text.
fn number(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line).ok()?.trim_end().parse().ok()
}

/// Decodes one unchanged message after the other.
pub(crate) struct Messages;

impl Decoder for Messages {
    type Item = Bytes;
    type Error = std::io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> std::io::Result<Option<Bytes>> {
        Ok(length(bytes).map(|length| bytes.split_to(length).freeze()))
    }
}

/// The first words of a command.
pub(crate) fn words<const N: usize>(command: &[u8]) -> Option<[&[u8]; N]> {
    let mut words = [&[][..]; N];
    let mut at = line_end(command, 0)?;
    for word in &mut words {
        let head = line_end(command, at)?;
        let length = usize::try_from(number(command.get(at + 1..head)?)?).ok()?;
        *word = command.get(head..head + length)?;
        at = head + length + 2;
    }
    Some(words)
}

fn line_end(bytes: &[u8], from: usize) -> Option<usize> {
    Some(from + bytes.get(from..)?.iter().position(|byte| *byte == b'\n')? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_where_they_end() {
        for whole in [
            "+OK\r\n",
            "-NOSCRIPT no\r\n",
            ":17\r\n",
            "_\r\n",
            "$5\r\na\r\nbc\r\n",
            "$-1\r\n",
            "*0\r\n",
            "*-1\r\n",
            "*2\r\n$1\r\na\r\n*1\r\n:1\r\n",
            "%1\r\n+a\r\n:1\r\n",
            ">2\r\n+invalidate\r\n_\r\n",
            "|1\r\n+ttl\r\n:1\r\n$1\r\nx\r\n",
            "=5\r\ntxt:a\r\n",
        ] {
            assert_eq!(length(format!("{whole}+next\r\n").as_bytes()), Some(whole.len()), "{whole:?}");
            for cut in 0..whole.len() {
                assert_eq!(length(&whole.as_bytes()[..cut]), None, "{whole:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_command_is_known_by_its_first_words() {
        let command = b"*3\r\n$7\r\nEVALSHA\r\n$2\r\nab\r\n$1\r\n0\r\n";
        assert_eq!(words(command), Some([&b"EVALSHA"[..], b"ab"]));
        assert_eq!(words::<4>(command), None);
    }
}
