//! Server-sent events, which arrive in pieces.

use bytes::{Bytes, BytesMut};

/// What has arrived, and isn't read yet.
#[derive(Default)]
pub struct EventBuffer(BytesMut);

impl EventBuffer {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The bytes of an event of which the end hasn't come yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.0.len()
    }

    /// The data of the next event. None: its end hasn't come yet.
    pub fn data(&mut self) -> Option<Bytes> {
        loop {
            let end = self.0.windows(2).position(|two| two == b"\n\n")?;
            let event = self.0.split_to(end + 2).freeze();
            let mut lines = event.split(|byte| *byte == b'\n');
            if let Some(data) = lines.find_map(|line| line.strip_prefix(b"data: ")) {
                return Some(event.slice_ref(data));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_when_its_end_has_come() {
        let mut buffer = EventBuffer::default();
        let mut read = Vec::new();
        for piece in ["event: frame\nda", "ta: {\"a\":1}\n", "\n: comment\n\nevent: frame\ndata: 2\n\ndata: 3"] {
            buffer.push(piece.as_bytes());
            read.extend(std::iter::from_fn(|| buffer.data()));
        }
        assert_eq!(read, ["{\"a\":1}", "2"]);
        assert_eq!(buffer.pending(), "data: 3".len());
    }
}
