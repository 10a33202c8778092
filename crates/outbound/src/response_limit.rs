//! Bounds the bytes that are read from a connection for one response. The parser bounds a head, and the reader of a
//! body its length. Only this module bounds interim (1xx) responses, chunk framing and trailers.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum bytes until the end of the final head: the head itself, all 1xx responses, and what is read of the body.
pub const MOST_BEFORE_BODY: u64 = 256 * 1024;
/// Maximum bytes per byte of a body: if each byte is a chunk, it needs `1`, the byte and two line ends; rounded up.
const BYTES_PER_BYTE: u64 = 8;
/// Additional bytes for chunk extensions and trailers.
const BESIDE_BODY: u64 = 64 * 1024;

/// The error of a response with more bytes than allowed.
#[derive(Debug, Error)]
#[error("more bytes came than are read of an answer")]
pub struct ResponseTooLarge;

impl ResponseTooLarge {
    /// Returns whether this is a cause of `error`, of a request, or of a response's body.
    #[must_use]
    pub fn caused(error: &(dyn Error + 'static)) -> bool {
        let mut causes = std::iter::successors(Some(error), |&error| error.source());
        causes.any(|cause| cause.downcast_ref().and_then(io::Error::get_ref).is_some_and(|error| error.is::<Self>()))
    }
}

/// How many bytes may still be read from a connection. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Allowance(Arc<AtomicU64>);

impl Allowance {
    /// Sets the allowance for the head of the next response.
    pub(crate) fn allow_head(&self) {
        self.0.store(MOST_BEFORE_BODY, Ordering::Relaxed);
    }

    /// Sets the allowance for a body of this many bytes.
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

/// A connection that fails when its allowance is used up. The last read may exceed the allowance.
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
            return Poll::Ready(Err(io::Error::other(ResponseTooLarge)));
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
