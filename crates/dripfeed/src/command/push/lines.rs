//! Reads lines in bounded memory.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// In bytes: twice the largest body that an intake can be configured to accept.
pub(super) const MAX_LINE: usize = 8 << 20;

/// Windows programs write it at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Read(Vec<u8>),
    /// A line of more than [`MAX_LINE`] bytes.
    TooLong,
}

/// Reads line by line.
pub(super) struct Lines<R> {
    input: R,
    /// The number of lines read so far.
    number: u64,
    /// The part of the next line that was read.
    read: Vec<u8>,
    is_too_long: bool,
}

impl Line {
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, Self::Read(text) if text.trim_ascii().is_empty())
    }
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, number: 0, read: Vec::new(), is_too_long: false }
    }

    /// Returns the next line and its number, from 1. Cancel safe: a partly read line is kept.
    pub(super) async fn next(&mut self) -> io::Result<Option<(u64, Line)>> {
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                let is_over = self.read.is_empty() && !self.is_too_long;
                return Ok((!is_over).then(|| self.end()));
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            self.is_too_long |= self.read.len() + part.len() > MAX_LINE;
            if self.is_too_long {
                self.read = Vec::new();
            } else {
                self.read.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(self.end()));
            }
        }
    }

    fn end(&mut self) -> (u64, Line) {
        self.number += 1;
        let mut read = std::mem::take(&mut self.read);
        if self.number == 1 && read.starts_with(BYTE_ORDER_MARK) {
            read.drain(..BYTE_ORDER_MARK.len());
        }
        (self.number, if std::mem::take(&mut self.is_too_long) { Line::TooLong } else { Line::Read(read) })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use tokio::io::BufReader;

    use super::*;

    async fn lines(input: &[u8]) -> Vec<Line> {
        // Lines are longer than what is read at once.
        let (mut lines, mut read) = (Lines::new(BufReader::with_capacity(3, input)), Vec::new());
        while let Some((number, line)) = lines.next().await.unwrap() {
            read.push(line);
            assert_eq!(number, read.len() as u64);
        }
        read
    }

    #[tokio::test]
    async fn a_file_is_read_line_by_line() {
        let texts = |texts: &[&str]| texts.iter().map(|text| Line::Read((*text).into())).collect::<Vec<_>>();
        assert_eq!(lines(b"").await, texts(&[]));
        assert_eq!(lines(b"\n").await, texts(&[""]));
        assert_eq!(lines(b"abcdef\r\n\ngh").await, texts(&["abcdef\r", "", "gh"]));
        assert_eq!(lines(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n").await, texts(&["a", "\u{feff}b"]));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_left_out() {
        let long = vec![b'x'; MAX_LINE];
        assert_eq!(lines(&[&long, &b"\ny"[..]].concat()).await, [Line::Read(long.clone()), Line::Read(b"y".into())]);
        assert_eq!(lines(&[&long, &b"x\ny\n"[..]].concat()).await, [Line::TooLong, Line::Read(b"y".into())]);
        assert_eq!(lines(&[&long, &b"x"[..]].concat()).await, [Line::TooLong]);
    }
}
