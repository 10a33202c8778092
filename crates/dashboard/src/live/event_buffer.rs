//! Parses server-sent events that arrive in pieces.

use bytes::{Bytes, BytesMut};

const END: &[u8] = b"\n\n";

/// Received bytes, from which whole events are taken.
#[derive(Default)]
pub struct EventBuffer {
    arrived: BytesMut,
    /// Number of bytes at the start that contain no end of an event, so that each byte of a long event is searched
    /// once.
    searched: usize,
}

impl EventBuffer {
    pub fn push(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// Returns the number of bytes of an incomplete event.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.arrived.len()
    }

    /// Returns the data of the next event. Returns `None` if it is incomplete.
    pub fn data(&mut self) -> Option<Bytes> {
        loop {
            let event = self.event()?;
            let mut lines = event.split(|byte| *byte == b'\n');
            if let Some(data) = lines.find_map(|line| line.strip_prefix(b"data: ")) {
                return Some(event.slice_ref(data));
            }
        }
    }

    /// The next complete event, with its end.
    fn event(&mut self) -> Option<Bytes> {
        // The end may begin with the last searched byte.
        let from = self.searched.saturating_sub(END.len() - 1);
        let Some(end) = self.arrived[from..].windows(END.len()).position(|bytes| bytes == END) else {
            self.searched = self.arrived.len();
            return None;
        };
        self.searched = 0;
        Some(self.arrived.split_to(from + end + END.len()).freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_whole_however_they_are_cut() {
        let stream = b"event: frame\ndata: {\"a\":1}\n\n: comment\n\n\n\ndata: 2\nid: 7\n\ndata: 3";
        for size in 1..=stream.len() {
            let (mut buffer, mut read) = (EventBuffer::default(), Vec::new());
            for piece in stream.chunks(size) {
                buffer.push(piece);
                read.extend(std::iter::from_fn(|| buffer.data()));
            }
            assert_eq!(read, ["{\"a\":1}", "2"], "pieces of {size} bytes");
            assert_eq!(buffer.pending(), "data: 3".len());
        }
    }
}
