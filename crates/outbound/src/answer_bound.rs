//! Bounds what is read from a connection for one answer. The parser bounds a head, and who reads a body bounds that. No
//! other bound has what comes before the head, of answers that aren't final (1xx), and what frames a body in chunks.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Until the head of an answer is there: a largest one, all 1xx answers before it, and what is read ahead of its body.
pub const MOST_BEFORE_BODY: u64 = 256 * 1024;
/// Of a body where each byte is a chunk: `1`, the byte, and two line ends. And a bit.
const BYTES_PER_BYTE: u64 = 8;
/// Extensions of chunks, and trailers.
const BESIDE_BODY: u64 = 64 * 1024;

/// More came of an answer than is read of one.
#[derive(Debug, Error)]
#[error("more bytes came than are read of an answer")]
pub struct EndlessAnswer;

impl EndlessAnswer {
    /// Whether it is behind this error of a request, or of an answer's body.
    #[must_use]
    pub fn is_behind(error: &(dyn Error + 'static)) -> bool {
        let mut causes = std::iter::successors(Some(error), |&error| error.source());
        causes.any(|cause| cause.downcast_ref().and_then(io::Error::get_ref).is_some_and(|error| error.is::<Self>()))
    }
}

/// How many bytes may still be read from a connection. Shared with what reads it.
#[derive(Clone, Default)]
pub(crate) struct Allowance(Arc<AtomicU64>);

impl Allowance {
    /// For the head of the next answer.
    pub(crate) fn allow_head(&self) {
        self.0.store(MOST_BEFORE_BODY, Ordering::Relaxed);
    }

    /// For a body of this many bytes.
    pub(crate) fn allow_body(&self, bytes: u64) {
        self.0.store(bytes.saturating_mul(BYTES_PER_BYTE).saturating_add(BESIDE_BODY), Ordering::Relaxed);
    }

    fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn use_up(&self, bytes: usize) {
        let left = |left: u64| Some(left.saturating_sub(bytes as u64));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

/// A connection from which no more is read than is allowed. The last piece that is read may exceed it.
pub(crate) struct BoundedConnection<C> {
    connection: C,
    allowance: Allowance,
}

impl<C> BoundedConnection<C> {
    pub(crate) const fn new(connection: C, allowance: Allowance) -> Self {
        Self { connection, allowance }
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for BoundedConnection<C> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.allowance.is_used_up() {
            return Poll::Ready(Err(io::Error::other(EndlessAnswer)));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.connection).poll_read(cx, buf);
        self.allowance.use_up(buf.filled().len() - before);
        read
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for BoundedConnection<C> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(cx)
    }
}
