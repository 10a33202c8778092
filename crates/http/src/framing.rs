//! CheckedConnection RFC 9112 message framing, against request smuggling.
//!
//! A connection is read as lines and counted bytes. A line must end with CRLF and contain no other control characters
//! than tabs, and a request must declare its length only once. Such framing is unambiguous: a proxy before the intake
//! and the parser after this see the same requests.

use memchr::memchr;

use crate::limits::PARSED_BYTES;

/// What the parser expects next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// A request line, or an empty line before it.
    RequestLine,
    /// A header field, or the end of the head.
    Field(Head),
    /// This many bytes of a body of known length; above 0.
    Body(u64),
    ChunkSize,
    /// This many bytes of a chunk; above 0.
    Chunk(u64),
    ChunkEnd,
    /// A trailer field, or the end of the body.
    Trailer,
}

/// What the head of a request has declared so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    version: Http1Version,
    has_host: bool,
    length: Option<u64>,
    is_chunked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Http1Version {
    Http10,
    Http11,
}

/// The part of a request whose framing is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPart {
    Head,
    Body,
}

/// Where the valid framing ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidFraming {
    /// The number of valid bytes. The next one is the LF of an invalid line, or exceeds the line limit.
    pub(crate) valid: usize,
    pub(crate) part: RequestPart,
}

/// Tracks the framing of a connection from its first byte.
#[derive(Debug)]
pub(crate) struct Framing {
    next: Next,
    /// An incomplete line.
    line: Vec<u8>,
    /// The number of complete heads.
    heads: u64,
}

impl Framing {
    pub(crate) fn new() -> Self {
        Self { next: Next::RequestLine, line: Vec::new(), heads: 0 }
    }

    /// Checks the next bytes. Must not be called after an error.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> Result<(), InvalidFraming> {
        let mut read = 0;
        while read < bytes.len() {
            let rest = &bytes[read..];
            let step = match &mut self.next {
                Next::Body(left) | Next::Chunk(left) => Ok(count_down(left, rest.len())),
                _ => self.read_line(rest),
            };
            let part = self.part();
            read += step.map_err(|valid| InvalidFraming { valid: read + valid, part })?;
            self.end_counted();
        }
        Ok(())
    }

    /// Returns the length of the line at the start of `rest`, or, as an error, the number of bytes before the LF of an
    /// invalid line.
    fn read_line(&mut self, rest: &[u8]) -> Result<usize, usize> {
        let Some(end) = memchr(b'\n', rest) else {
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
        let next = next.ok_or(end)?;
        let ends_head = matches!(self.next, Next::Field(_)) && !matches!(next, Next::Field(_));
        self.heads += u64::from(ends_head);
        self.next = next;
        Ok(end + 1)
    }

    fn end_counted(&mut self) {
        match self.next {
            Next::Body(0) => self.next = Next::RequestLine,
            Next::Chunk(0) => self.next = Next::ChunkEnd,
            _ => {}
        }
    }

    /// Returns whether the bytes so far end within a body.
    pub(crate) fn is_within_body(&self) -> bool {
        self.part() == RequestPart::Body
    }

    /// Returns the number, counted from 0, of the head that must come now: the first of the connection, or one that has
    /// begun. `None` within a body and between requests.
    pub(crate) fn awaited_head(&self) -> Option<u64> {
        let must_come = match self.next {
            Next::RequestLine => self.heads == 0 || !self.line.is_empty(),
            Next::Field(_) => true,
            _ => false,
        };
        must_come.then_some(self.heads)
    }

    fn part(&self) -> RequestPart {
        match self.next {
            Next::RequestLine | Next::Field(_) => RequestPart::Head,
            Next::Body(_) | Next::ChunkSize | Next::Chunk(_) | Next::ChunkEnd | Next::Trailer => RequestPart::Body,
        }
    }
}

/// Returns how many of the next `available` bytes belong to the body, and subtracts them from `left`.
fn count_down(left: &mut u64, available: usize) -> usize {
    let counted = usize::try_from(*left).map_or(available, |left| left.min(available));
    *left -= u64::try_from(counted).unwrap_or(*left);
    counted
}

impl Next {
    /// Returns what follows `line`, which is without its LF, or `None` if the line is invalid.
    fn after(&self, line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").filter(|line| are_text(line))?;
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
            b"HTTP/1.0" => Http1Version::Http10,
            b"HTTP/1.1" => Http1Version::Http11,
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
            // Only one coding, `chunked`, because the server decodes no other.
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
            (Http1Version::Http11, _, _) if !self.has_host => None,
            (_, Some(_), true) | (Http1Version::Http10, _, true) => None,
            (_, None, true) => Some(Next::ChunkSize),
            (_, Some(0) | None, false) => Some(Next::RequestLine),
            (_, Some(length), false) => Some(Next::Body(length)),
        }
    }
}

/// Parses a header field into name and value.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let name = line.iter().take_while(|byte| TOKEN[usize::from(**byte)]).count();
    let (name, rest) = line.split_at(name);
    let value = rest.strip_prefix(b":").filter(|_| !name.is_empty())?;
    Some((name, value.trim_ascii()))
}

/// Parses the size of a chunk. Ignores extensions.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, rest) = line.split_at(digits);
    let is_end = rest.is_empty() || rest.trim_ascii_start().starts_with(b";");
    number(digits, 16).filter(|_| is_end)
}

/// Parses digits, without signs, spaces or lists.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let are_digits = !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
    are_digits.then(|| u64::from_str_radix(text, radix).ok())?
}

/// Whether there are no control characters except tabs. Doesn't return early, so that the loop is vectorized.
fn are_text(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |are, byte| are & (*byte == b'\t' || !byte.is_ascii_control()))
}

/// Whether a byte is allowed in the name of a header field.
static TOKEN: [bool; 256] = {
    let mut token = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        token[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let (others, mut index) = (b"!#$%&'*+-.^_`|~", 0);
    while index < others.len() {
        token[others[index] as usize] = true;
        index += 1;
    }
    token
};

#[cfg(test)]
mod tests;
