//! A connection of which nothing can be read but what is framed by the letter.
//!
//! **Architecture invariant:** who reads from here never gets the LF of a line that `framing` refuses, and no byte after
//! it. Nothing in HTTP/1 takes effect before its LF.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::framing::{Framing, Part};

/// What is read instead of the rest of a head: a NUL, which no line may hold, and the end of the head, so that it is looked
/// at now. It is answered 400, and the connection is closed.
const NO_HEAD: &[u8] = b"\0\r\n\r\n";

/// Who is refused while sending gets so long to see the answer: a connection that is closed with something unread in it is
/// reset, and a reset may overtake the answer.
const TO_BE_SEEN: Duration = Duration::from_secs(1);

pub(super) struct Strict<S> {
    connection: S,
    framing: Framing,
    /// Where the framing broke, and there what of `NO_HEAD` is still to be read.
    broken: Option<(Part, &'static [u8])>,
    /// Begun when nothing more is written.
    to_be_seen: Option<Pin<Box<Sleep>>>,
}

impl<S> Strict<S> {
    pub(super) fn new(connection: S) -> Self {
        Self { connection, framing: Framing::new(), broken: None, to_be_seen: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Strict<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if this.broken.is_none() {
            ready!(Pin::new(&mut this.connection).poll_read(cx, buffer))?;
            let Err(broken) = this.framing.follow(&buffer.filled()[before..]) else { return Poll::Ready(Ok(())) };
            buffer.set_filled(before + broken.sound);
            this.broken = Some((broken.part, NO_HEAD));
        }
        match &mut this.broken {
            Some((Part::Head, rest)) => {
                let (now, later) = rest.split_at(rest.len().min(buffer.remaining()));
                buffer.put_slice(now);
                *rest = later;
            }
            // Nothing read would pass for the end of the connection: what is sound in it goes first.
            Some((Part::Body, _)) if buffer.filled().len() == before => {
                return Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a body is framed in no valid way",
                )));
            }
            Some((Part::Body, _)) | None => {}
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> Strict<S> {
    /// Reads past what nobody wants any more, until the other end has seen enough, or its time is over.
    fn poll_read_past(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let over = self.to_be_seen.get_or_insert_with(|| Box::pin(tokio::time::sleep(TO_BE_SEEN)));
        let mut unread = [MaybeUninit::uninit(); 8 * 1024];
        while over.as_mut().poll(cx).is_pending() {
            let mut unread = ReadBuf::uninit(&mut unread);
            let read = ready!(Pin::new(&mut self.connection).poll_read(cx, &mut unread));
            if read.is_err() || unread.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Strict<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().connection).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().connection).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.to_be_seen.is_none() {
            ready!(Pin::new(&mut this.connection).poll_shutdown(cx))?;
        }
        if this.broken.is_some() || this.framing.is_within_body() {
            ready!(this.poll_read_past(cx));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// What is read with a buffer of that size.
    async fn read(bytes: &[u8], at_once: usize) -> (Vec<u8>, io::Result<()>) {
        let mut strict = Strict::new(bytes);
        let mut read = Vec::new();
        let mut buffer = vec![0; at_once];
        loop {
            match strict.read(&mut buffer).await {
                Ok(0) => return (read, Ok(())),
                Ok(now) => read.extend_from_slice(&buffer[..now]),
                Err(error) => return (read, Err(error)),
            }
        }
    }

    #[tokio::test]
    async fn what_is_sound_is_read_as_it_came() {
        let bytes = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n\n\0PUT / HTTP/1.1\r\nHo";
        for at_once in [1, 2, 7, 1000] {
            let (read, end) = read(bytes, at_once).await;
            end.unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[tokio::test]
    async fn a_broken_head_is_made_unreadable() {
        let bytes = b"GET / HTTP/1.1\r\nHost: x\r\nX: y\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n";
        for at_once in [1, 2, 7, 1000] {
            let (read, end) = read(bytes, at_once).await;
            end.unwrap();
            assert_eq!(read, b"GET / HTTP/1.1\r\nHost: x\r\nX: y\0\r\n\r\n");
        }
    }

    #[tokio::test]
    async fn a_broken_body_can_not_be_read_on() {
        let bytes =
            b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\nGET / HTTP/1.1\r\n";
        for at_once in [1, 2, 7, 1000] {
            let (read, end) = read(bytes, at_once).await;
            assert_eq!(end.unwrap_err().kind(), io::ErrorKind::InvalidData);
            assert!(read.ends_with(b"\r\n\r\n1\r\nx"), "{read:?}");
        }
    }
}
