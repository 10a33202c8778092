//! Whole events of a stream, of the parts in which they come.

use bytes::BytesMut;

const END: &[u8] = b"\n\n";

#[derive(Default)]
pub(super) struct EventBuffer {
    read: BytesMut,
    /// Bytes at its beginning in which no event ends: a long event comes in many parts, and each byte is looked at
    /// once.
    searched: usize,
}

impl EventBuffer {
    pub(super) fn extend(&mut self, part: &[u8]) {
        self.read.extend_from_slice(part);
    }

    /// The next event that is whole, with its end.
    pub(super) fn take_event(&mut self) -> Option<BytesMut> {
        // The last byte that was looked at may begin an end.
        let from = self.searched.saturating_sub(END.len() - 1);
        let Some(end) = self.read[from..].windows(END.len()).position(|bytes| bytes == END) else {
            self.searched = self.read.len();
            return None;
        };
        self.searched = 0;
        Some(self.read.split_to(from + end + END.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_they_are_cut() {
        let stream = b"data: 1\n\ndata: {\"a\":\"b\"}\nid: 7\n\n\n\ndata: 2\n\n";
        for size in 1..=stream.len() {
            let (mut buffer, mut events) = (EventBuffer::default(), Vec::new());
            for part in stream.chunks(size) {
                buffer.extend(part);
                events.extend(std::iter::from_fn(|| buffer.take_event()));
            }
            let expected = ["data: 1\n\n", "data: {\"a\":\"b\"}\nid: 7\n\n", "\n\n", "data: 2\n\n"];
            assert_eq!(events, expected, "parts of {size} bytes");
        }
    }
}
