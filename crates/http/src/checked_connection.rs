//! A connection that returns only validly framed bytes, and whose heads must arrive in time.
//!
//! **Architecture invariant:** a reader never gets the LF of a line that `framing` refuses, nor any byte after it. In
//! HTTP/1 no line has an effect before its LF.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::framing::{Framing, RequestPart};

#[cfg(test)]
mod tests;

/// Replaces the rest of an invalid head: a NUL, which no line may contain, and the end of the head, so that it is
/// parsed at once. The server responds 400 and closes the connection.
const INVALID_HEAD: &[u8] = b"\0\r\n\r\n";

/// How long a client that is refused while it sends has to read the response. Closing a connection with unread data
/// resets it, and a reset may overtake the response.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) struct CheckedConnection<S> {
    connection: S,
    framing: Framing,
    head_timer: HeadTimer,
    /// The part with invalid framing, and the rest of `INVALID_HEAD` to be read.
    invalid: Option<(RequestPart, &'static [u8])>,
    /// Started at the shutdown of the write side.
    linger: Option<Pin<Box<Sleep>>>,
}

impl<S> CheckedConnection<S> {
    pub(crate) fn new(connection: S, head_timeout: Duration) -> Self {
        let head_timer = HeadTimer::new(head_timeout);
        Self { connection, framing: Framing::new(), head_timer, invalid: None, linger: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CheckedConnection<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if this.invalid.is_none() {
            let Poll::Ready(read) = Pin::new(&mut this.connection).poll_read(cx, buffer) else {
                return this.head_timer.poll_timed_out(this.framing.awaited_head(), cx).map(Err);
            };
            read?;
            let Err(invalid) = this.framing.follow(&buffer.filled()[before..]) else { return Poll::Ready(Ok(())) };
            buffer.set_filled(before + invalid.valid);
            this.invalid = Some((invalid.part, INVALID_HEAD));
        }
        match &mut this.invalid {
            Some((RequestPart::Head, rest)) => {
                let (now, later) = rest.split_at(rest.len().min(buffer.remaining()));
                buffer.put_slice(now);
                *rest = later;
            }
            // Fails only if there are no valid bytes to return before.
            Some((RequestPart::Body, _)) if buffer.filled().len() == before => {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "invalid body framing")));
            }
            Some((RequestPart::Body, _)) | None => {}
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> CheckedConnection<S> {
    /// Discards bytes until the client closes the connection or `LINGER` is over.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timeout = self.linger.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        let mut unread = [MaybeUninit::uninit(); 8 * 1024];
        while timeout.as_mut().poll(cx).is_pending() {
            let mut unread = ReadBuf::uninit(&mut unread);
            let read = ready!(Pin::new(&mut self.connection).poll_read(cx, &mut unread));
            if read.is_err() || unread.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for CheckedConnection<S> {
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
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.connection).poll_shutdown(cx))?;
        }
        if this.invalid.is_some() || this.framing.is_within_body() {
            ready!(this.poll_discard(cx));
        }
        Poll::Ready(Ok(()))
    }
}

/// Times each head of a connection. A head that arrives with one read costs nothing.
pub(crate) struct HeadTimer {
    timeout: Duration,
    /// The number of the timed head, pluralize from 0, and its timeout.
    running: Option<(u64, Pin<Box<Sleep>>)>,
}

impl HeadTimer {
    pub(crate) const fn new(timeout: Duration) -> Self {
        Self { timeout, running: None }
    }

    /// Returns an error when the head `awaited` has timed out. To be polled when a read is pending.
    pub(crate) fn poll_timed_out(&mut self, awaited: Option<u64>, cx: &mut Context<'_>) -> Poll<io::Error> {
        self.running = self.running.take().filter(|(head, _)| Some(*head) == awaited);
        let Some(head) = awaited else { return Poll::Pending };
        let (_, timer) = self.running.get_or_insert_with(|| (head, Box::pin(tokio::time::sleep(self.timeout))));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the request's head was not complete in time"))
    }
}
