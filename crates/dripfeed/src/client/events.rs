//! Reads `GET /v1/events`, which sends one frame a second.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_client::{ByteStream, Client, ClientError};
use dripfeed_dashboard::frame::EventBuffer;

use super::request_error::RequestError;

/// The timeout of the response's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream without a frame for this long is considered dead.
const FRAME_TIMEOUT: Duration = Duration::from_secs(15);
/// In bytes. A frame has at most a thousand rows and 64 states.
const MAX_FRAME: usize = 4 << 20;

/// The frames of a server, as JSON.
pub(crate) struct EventStream {
    bytes: ByteStream,
    read: EventBuffer,
}

/// `states`: the buckets whose complete state each frame contains.
///
/// # Errors
/// When the request is refused or gets no response.
pub(crate) async fn events(server: &Client, states: &[String]) -> Result<EventStream, ClientError> {
    let path = format!("/v1/events?states={}", states.join(","));
    Ok(EventStream { bytes: server.stream(&path, HEAD_TIMEOUT).await?, read: EventBuffer::default() })
}

impl EventStream {
    /// Returns the next frame, or `None` if the server has ended the stream.
    ///
    /// # Errors
    /// When the stream is cut off, or no frame arrives in time.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        let next = tokio::time::timeout(FRAME_TIMEOUT, self.data()).await;
        next.map_err(|_| ClientError::Silent(FRAME_TIMEOUT))?
    }

    async fn data(&mut self) -> Result<Option<Bytes>, RequestError> {
        loop {
            if let Some(data) = self.read.data() {
                return Ok(Some(data));
            }
            if self.read.pending() > MAX_FRAME {
                return Err(RequestError::TooLarge(MAX_FRAME));
            }
            let Some(bytes) = self.bytes.next().await? else { return Ok(None) };
            self.read.push(&bytes);
        }
    }
}
