//! Standard error as the sink of the log. Its reader may stop reading without closing it, and a write would wait for
//! it, and with the write every thread that logs. So a line for which the reader has no room is dropped, and the log
//! says how many were once it is read again.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;

/// How long a line waits for a reader that is behind. Those behind it don't wait until the reader has room again.
const PATIENCE_MS: u16 = 100;
/// A pipe with room has room for so much (`PIPE_BUF`): a write of it doesn't wait.
const PIECE: usize = 4096;

/// The line that says how many were dropped.
pub(super) type DroppedLine = fn(dropped: u64) -> String;

pub(super) struct LogSink<W = io::Stderr>(Mutex<Sink<W>>);

struct Sink<W> {
    to: W,
    /// Lines since the reader last had room.
    dropped: u64,
    /// The last line was cut.
    is_torn: bool,
    dropped_line: DroppedLine,
}

impl<W: Write + AsFd> LogSink<W> {
    pub(super) const fn new(to: W, dropped_line: DroppedLine) -> Self {
        Self(Mutex::new(Sink { to, dropped: 0, is_torn: false, dropped_line }))
    }
}

impl<W: Write + AsFd> Write for &LogSink<W> {
    /// Takes a whole line, whether or not it is written.
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
            let end_of_torn = if self.is_torn { "\n" } else { "" };
            // Short: it has room.
            self.to.write_all(format!("{end_of_torn}{note}\n").as_bytes())?;
            (self.dropped, self.is_torn) = (0, false);
        }
        for (at, piece) in line.chunks(PIECE).enumerate() {
            if self.dropped > 0 || !has_room(self.to.as_fd(), if is_behind { 0 } else { PATIENCE_MS }) {
                self.dropped += 1;
                self.is_torn |= at > 0;
                return Ok(());
            }
            self.to.write_all(piece)?;
        }
        Ok(())
    }
}

/// Whether a write of one piece wouldn't wait, also because it fails.
fn has_room(to: BorrowedFd<'_>, wait_ms: u16) -> bool {
    let mut asked = [PollFd::new(to, PollFlags::POLLOUT)];
    poll(&mut asked, PollTimeout::from(wait_ms)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::io::{PipeReader, PipeWriter, Read as _, pipe};

    use super::*;

    fn full_pipe() -> (PipeReader, LogSink<PipeWriter>) {
        let (reader, mut writer) = pipe().unwrap();
        while has_room(writer.as_fd(), 0) {
            writer.write_all(&[b'.'; PIECE]).unwrap();
        }
        (reader, LogSink::new(writer, |dropped| format!("{dropped} dropped")))
    }

    /// What is in the pipe behind the dots that filled it.
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
        reader.read_exact(&mut [0; 2 * PIECE]).unwrap();
        (&sink).write_all(b"three\n").unwrap();
        (&sink).write_all(b"four\n").unwrap();
        assert_eq!(rest(reader, sink), "2 dropped\nthree\nfour\n");
    }

    #[test]
    fn a_line_that_is_cut_ends_before_the_next() {
        let (mut reader, sink) = full_pipe();
        reader.read_exact(&mut [0; PIECE]).unwrap();
        (&sink).write_all(&[b'x'; 2 * PIECE]).unwrap();
        reader.read_exact(&mut [0; 2 * PIECE]).unwrap();
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
