//! Writes the log to standard error without blocking. If its reader stops reading, a write would block, and with it
//! every thread that logs. So lines for which the pipe has no room are dropped, and their number is logged once there
//! is room.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;

/// How long the first line waits for room. After a dropped line, the next ones don't wait.
const MAX_WAIT_MS: u16 = 100;
/// `PIPE_BUF`: a pipe that is ready has room for this much, so the write doesn't block.
const CHUNK: usize = 4096;

/// Formats the line with the number of dropped lines.
pub(super) type DroppedLine = fn(dropped: u64) -> String;

pub(super) struct LogSink<W = io::Stderr>(Mutex<Sink<W>>);

struct Sink<W> {
    to: W,
    /// The number of lines dropped since the last one was written.
    dropped: u64,
    /// Whether the last line was written in part.
    is_cut: bool,
    dropped_line: DroppedLine,
}

impl<W: Write + AsFd> LogSink<W> {
    pub(super) const fn new(to: W, dropped_line: DroppedLine) -> Self {
        Self(Mutex::new(Sink { to, dropped: 0, is_cut: false, dropped_line }))
    }
}

impl<W: Write + AsFd> Write for &LogSink<W> {
    /// Consumes a whole line, whether or not it is written.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().line(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().to.flush()
    }
}

impl<W: Write + AsFd> Sink<W> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let is_behind = self.dropped > 0;
        if is_behind && has_room(self.to.as_fd(), 0) {
            let note = (self.dropped_line)(self.dropped);
            let end_of_cut = if self.is_cut { "\n" } else { "" };
            // Shorter than `CHUNK`, so it doesn't block.
            self.to.write_all(format!("{end_of_cut}{note}\n").as_bytes())?;
            (self.dropped, self.is_cut) = (0, false);
        }
        for (index, chunk) in line.chunks(CHUNK).enumerate() {
            if self.dropped > 0 || !has_room(self.to.as_fd(), if is_behind { 0 } else { MAX_WAIT_MS }) {
                self.dropped += 1;
                self.is_cut |= index > 0;
                return Ok(());
            }
            self.to.write_all(chunk)?;
        }
        Ok(())
    }
}

/// Whether a write of one chunk doesn't block, which is also so if it fails.
fn has_room(to: BorrowedFd<'_>, wait_ms: u16) -> bool {
    let mut fds = [PollFd::new(to, PollFlags::POLLOUT)];
    poll(&mut fds, PollTimeout::from(wait_ms)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::io::{PipeReader, PipeWriter, Read as _, pipe};

    use super::*;

    fn full_pipe() -> (PipeReader, LogSink<PipeWriter>) {
        let (reader, mut writer) = pipe().unwrap();
        while has_room(writer.as_fd(), 0) {
            writer.write_all(&[b'.'; CHUNK]).unwrap();
        }
        (reader, LogSink::new(writer, |dropped| format!("{dropped} dropped")))
    }

    /// The content of the pipe after the dots that filled it.
    fn rest(mut reader: PipeReader, sink: LogSink<PipeWriter>) -> String {
        drop(sink);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text.trim_start_matches('.').to_owned()
    }

    #[test]
    fn lines_that_nobody_reads_are_dropped_and_counted() {
        let (mut reader, sink) = full_pipe();
        for line in ["one\n", "two\n"] {
            assert_eq!((&sink).write(line.as_bytes()).unwrap(), line.len());
        }
        reader.read_exact(&mut [0; 2 * CHUNK]).unwrap();
        (&sink).write_all(b"three\n").unwrap();
        (&sink).write_all(b"four\n").unwrap();
        assert_eq!(rest(reader, sink), "2 dropped\nthree\nfour\n");
    }

    #[test]
    fn a_line_that_is_cut_ends_before_the_next() {
        let (mut reader, sink) = full_pipe();
        reader.read_exact(&mut [0; CHUNK]).unwrap();
        (&sink).write_all(&[b'x'; 2 * CHUNK]).unwrap();
        reader.read_exact(&mut [0; 2 * CHUNK]).unwrap();
        (&sink).write_all(b"whole\n").unwrap();
        let text = rest(reader, sink);
        assert_eq!(text.trim_start_matches('x'), "\n1 dropped\nwhole\n");
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error_at_once() {
        let (reader, sink) = full_pipe();
        drop(reader);
        assert_eq!((&sink).write(b"line\n").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
