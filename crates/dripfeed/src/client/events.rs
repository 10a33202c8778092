//! `GET /v1/events`: one frame a second.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_client::{ByteStream, Client, ClientError};
use dripfeed_dashboard::frame::EventBuffer;

use super::request_error::RequestError;

/// Timeout of the head of the response.
const OPENING: Duration = Duration::from_secs(10);
/// Frames come once a second: a stream without one for this long is dead, and its connection with it.
const SILENCE: Duration = Duration::from_secs(15);
/// No frame is larger: it has a thousand rows and 64 states at most.
const LARGEST: usize = 4 << 20;

/// The frames of a server, as JSON.
pub(crate) struct EventStream {
    bytes: ByteStream,
    read: EventBuffer,
}

/// `states`: the buckets whose whole state each frame has.
///
/// # Errors
/// When it is refused or unanswered.
pub(crate) async fn events(server: &Client, states: &[String]) -> Result<EventStream, ClientError> {
    let path = format!("/v1/events?states={}", states.join(","));
    Ok(EventStream { bytes: server.stream(&path, OPENING).await?, read: EventBuffer::default() })
}

impl EventStream {
    /// The next frame. None: the server has ended the stream.
    ///
    /// # Errors
    /// When it is cut off, or nothing comes.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        let next = tokio::time::timeout(SILENCE, self.data()).await;
        next.map_err(|_| ClientError::Silent(SILENCE))?
    }

    async fn data(&mut self) -> Result<Option<Bytes>, RequestError> {
        loop {
            if let Some(data) = self.read.data() {
                return Ok(Some(data));
            }
            if self.read.pending() > LARGEST {
                return Err(RequestError::TooLarge(LARGEST));
            }
            let Some(bytes) = self.bytes.next().await? else { return Ok(None) };
            self.read.push(&bytes);
        }
    }
}
