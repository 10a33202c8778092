//! Where requests begin and end on a connection, by the letter of RFC 9112.
//!
//! A connection is read as lines and counted bytes. A line ends with CRLF and holds no other control character but a tab;
//! a request says its length once, in one way. What is read so can be read in no other way: no proxy before us and no
//! parser behind this one finds another request in it.

use crate::head::PARSED_BYTES;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Or an empty line, which may stand before a request.
    RequestLine,
    /// Or the end of the head.
    Field(Head),
    /// Bytes of a body of known length; above 0.
    Body(u64),
    ChunkSize,
    /// Bytes of a chunk; above 0.
    Chunk(u64),
    ChunkEnd,
    /// Or the end of the body.
    Trailer,
}

/// What the head of a request has told so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    version: Version,
    has_host: bool,
    length: Option<u64>,
    is_chunked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
}

/// The part of a request in which its framing broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Head,
    Body,
}

/// The end of what can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// So many of the bytes are sound. The next one is the LF of a line that isn't, or begins more than may come.
    pub(super) sound: usize,
    pub(super) part: Part,
}

/// Follows a connection from its first byte on.
#[derive(Debug)]
pub(super) struct Framing {
    next: Next,
    /// The beginning of a line whose end hasn't come.
    line: Vec<u8>,
}

impl Framing {
    pub(super) fn new() -> Self {
        Self { next: Next::RequestLine, line: Vec::new() }
    }

    /// Goes on through `bytes`, which come next. Nothing may be read after an error.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut read = 0;
        while read < bytes.len() {
            let rest = &bytes[read..];
            let step = match &mut self.next {
                Next::Body(left) | Next::Chunk(left) => Ok(count_down(left, rest.len())),
                _ => self.read_line(rest),
            };
            let part = self.part();
            read += step.map_err(|sound| Broken { sound: read + sound, part })?;
            self.end_counted();
        }
        Ok(())
    }

    /// How much of `rest` the line takes; or, when it is unsound, how much of it stands before its LF.
    fn read_line(&mut self, rest: &[u8]) -> Result<usize, usize> {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            self.line.extend_from_slice(rest);
            return if self.line.len() > PARSED_BYTES { Err(0) } else { Ok(rest.len()) };
        };
        let next = if self.line.is_empty() {
            self.next.after(&rest[..end])
        } else {
            self.line.extend_from_slice(&rest[..end]);
            self.next.after(&self.line)
        };
        self.line.clear();
        self.next = next.ok_or(end)?;
        Ok(end + 1)
    }

    fn end_counted(&mut self) {
        match self.next {
            Next::Body(0) => self.next = Next::RequestLine,
            Next::Chunk(0) => self.next = Next::ChunkEnd,
            _ => {}
        }
    }

    /// What has come so far ends within a body.
    pub(super) fn is_within_body(&self) -> bool {
        self.part() == Part::Body
    }

    fn part(&self) -> Part {
        match self.next {
            Next::RequestLine | Next::Field(_) => Part::Head,
            Next::Body(_) | Next::ChunkSize | Next::Chunk(_) | Next::ChunkEnd | Next::Trailer => Part::Body,
        }
    }
}

/// The bytes that count, of so many.
fn count_down(left: &mut u64, there: usize) -> usize {
    let counted = usize::try_from(*left).map_or(there, |left| left.min(there));
    *left -= u64::try_from(counted).unwrap_or(*left);
    counted
}

impl Next {
    /// What comes after this line, which is given without its LF. None: it is no such line.
    fn after(&self, line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").filter(|line| line.iter().all(|byte| is_text(*byte)))?;
        match self {
            Self::RequestLine if line.is_empty() => Some(Self::RequestLine),
            Self::RequestLine => Some(Self::Field(Head::of(line)?)),
            Self::Field(head) if line.is_empty() => head.end(),
            Self::Field(head) => Some(Self::Field(head.with(line)?)),
            Self::ChunkSize => match chunk_size(line)? {
                0 => Some(Self::Trailer),
                size => Some(Self::Chunk(size)),
            },
            Self::ChunkEnd => line.is_empty().then_some(Self::ChunkSize),
            Self::Trailer if line.is_empty() => Some(Self::RequestLine),
            Self::Trailer => field(line).map(|_| Self::Trailer),
            Self::Body(_) | Self::Chunk(_) => None,
        }
    }
}

impl Head {
    fn of(request_line: &[u8]) -> Option<Self> {
        let mut words = request_line.split(|byte| *byte == b' ');
        let (Some(_method), Some(_target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return None;
        };
        let version = match version {
            b"HTTP/1.0" => Version::Http10,
            b"HTTP/1.1" => Version::Http11,
            _ => return None,
        };
        Some(Self { version, has_host: false, length: None, is_chunked: false })
    }

    fn with(mut self, line: &[u8]) -> Option<Self> {
        let (name, value) = field(line)?;
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = number(value, 10)?;
            return self.length.replace(length).is_none().then_some(self);
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            // Others in a row with it, or it twice, would be undone by nobody.
            let is_new = !std::mem::replace(&mut self.is_chunked, true);
            return (is_new && value.eq_ignore_ascii_case(b"chunked")).then_some(self);
        }
        if name.eq_ignore_ascii_case(b"host") {
            return (!std::mem::replace(&mut self.has_host, true)).then_some(self);
        }
        Some(self)
    }

    fn end(self) -> Option<Next> {
        match (self.version, self.length, self.is_chunked) {
            (Version::Http11, _, _) if !self.has_host => None,
            (_, Some(_), true) | (Version::Http10, _, true) => None,
            (_, None, true) => Some(Next::ChunkSize),
            (_, Some(0) | None, false) => Some(Next::RequestLine),
            (_, Some(length), false) => Some(Next::Body(length)),
        }
    }
}

/// Name and value of a header field.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    (!name.is_empty() && name.iter().all(|byte| is_token(*byte))).then(|| (name, value.trim_ascii()))
}

/// The size of a chunk; its extensions mean nothing to us.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, rest) = line.split_at(digits);
    let is_end = rest.is_empty() || rest.trim_ascii_start().starts_with(b";");
    number(digits, 16).filter(|_| is_end)
}

/// Digits and nothing else: no sign, no space, no list.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let are_digits = !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
    are_digits.then(|| u64::from_str_radix(text, radix).ok())?
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n";

    /// The same, however the bytes are cut.
    fn follow(text: &str) -> Result<Next, Broken> {
        let whole = |bytes: &[u8]| {
            let mut framing = Framing::new();
            framing.follow(bytes).map(|()| framing.next)
        };
        let byte_by_byte = |bytes: &[u8]| {
            let mut framing = Framing::new();
            for (at, byte) in bytes.iter().enumerate() {
                let followed = framing.follow(std::slice::from_ref(byte));
                followed.map_err(|broken| Broken { sound: at + broken.sound, ..broken })?;
            }
            Ok(framing.next)
        };
        let read = whole(text.as_bytes());
        assert_eq!(byte_by_byte(text.as_bytes()), read, "{text:?}");
        read
    }

    fn is_sound(text: &str) {
        assert_eq!(follow(text), Ok(Next::RequestLine), "{text:?}");
        let twice = text.repeat(2);
        assert_eq!(follow(&twice), Ok(Next::RequestLine), "{twice:?}");
    }

    /// The last LF of `text` is the one that must not be read.
    #[track_caller]
    fn breaks(text: &str, part: Part) {
        let broken = Broken { sound: text.rfind('\n').unwrap(), part };
        assert_eq!(follow(text), Err(broken), "{text:?}");
        let before = format!("{GET}Content-Length: 2\r\n\r\nxy");
        let later = format!("{before}{text}{GET}\r\n");
        let sound = before.len() + broken.sound;
        assert_eq!(follow(&later), Err(Broken { sound, part }), "{later:?}");
    }

    #[test]
    fn what_is_said_by_the_letter_is_sound() {
        is_sound("");
        is_sound("\r\n");
        is_sound("GET / HTTP/1.0\r\n\r\n");
        is_sound(&format!("{GET}\r\n"));
        is_sound(&format!("{GET}X:\r\nX: \t\"a:b\" \u{e9}\t \r\n\r\n"));
        is_sound(&format!("{GET}Content-Length: 0\r\n\r\n"));
        is_sound(&format!("{GET}content-LENGTH:\t003 \r\n\r\n\r\n\n"));
        is_sound(&format!("{GET}Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"));
        is_sound(&format!(
            "{GET}Transfer-Encoding: chunked\r\n\r\n00a;x=\"y\"\r\n0123456\r\n\0\r\n2 ;x\r\n\r\n\r\n000\r\n\r\n"
        ));
        is_sound(&format!("{GET}Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\nZ:\r\n\r\n"));
    }

    #[test]
    fn what_has_not_all_come_is_waited_for() {
        assert_eq!(follow(&format!("{GET}Content-Length: 3\r\n\r\nx")), Ok(Next::Body(2)));
        assert_eq!(follow(&format!("{GET}Transfer-Encoding: chunked\r\n\r\nff\r\nx")), Ok(Next::Chunk(254)));
        assert_eq!(follow(&format!("{GET}Transfer-Encoding: chunked\r\n\r\nf")), Ok(Next::ChunkSize));
        assert_eq!(follow("GET / HTTP/9"), Ok(Next::RequestLine));
    }

    #[test]
    fn a_head_that_can_be_read_otherwise_breaks() {
        for lines in [
            "\n",
            "GET / HTTP/1.1\n",
            "GET /\r\n",
            "GET / HTTP/2.0\r\n",
            "GET  / HTTP/1.1\r\n",
            "GET / HTTP/1.1 \r\n",
            "GET\t/\tHTTP/1.1\r\n",
            "GET / HTTP/1.1\r\n\r\n",
        ] {
            breaks(lines, Part::Head);
        }
        for fields in [
            "\n",
            "X: y\n",
            "X: y\r\r\n",
            "X: y\rZ: z\r\n",
            "X: a\0b\r\n",
            "X: a\x07b\r\n",
            "X: a\x7fb\r\n",
            "X : y\r\n",
            "X\t: y\r\n",
            " X: y\r\n",
            "\tfolded\r\n",
            ": y\r\n",
            "X\r\n",
            "Host: x\r\n",
            "Content-Length:\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: 0x1\r\n",
            "Content-Length: 1 1\r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: 18446744073709551616\r\n",
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: 1\r\nX: y\r\nCONTENT-LENGTH: 2\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding:\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: \x0bchunked\r\n",
        ] {
            breaks(&format!("{GET}{fields}"), Part::Head);
        }
        breaks("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Part::Head);
    }

    #[test]
    fn chunks_that_can_be_read_otherwise_break() {
        for chunks in [
            "\r\n",
            "\n",
            "nope\r\n",
            "0x1\r\n",
            "+1\r\n",
            "-1\r\n",
            " 1\r\n",
            "1 1\r\n",
            "1 \r\n",
            "1,\r\n",
            "1\n",
            "10000000000000000\r\n",
            "1;x\n",
            "1;x\0\r\n",
            "1;\rx\r\n",
            "1\r\nxyz\r\n",
            "1\r\nx\n",
            "0\n",
            "0\r\n\n",
            "0\r\nX: y\n",
            "0\r\nX : y\r\n",
            "0\r\n folded\r\n",
            "0\r\nGET / HTTP/1.1\r\n",
        ] {
            breaks(&format!("{GET}Transfer-Encoding: chunked\r\n\r\n{chunks}"), Part::Body);
        }
    }

    #[test]
    fn a_line_without_end_breaks() {
        let mut framing = Framing::new();
        let many = vec![b'x'; PARSED_BYTES];
        assert_eq!(framing.follow(&many), Ok(()));
        assert_eq!(framing.follow(b"xy"), Err(Broken { sound: 0, part: Part::Head }));
    }
}
