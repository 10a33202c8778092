//! `GET /v1/events`: a frame a second.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_dashboard::frame::EventBuffer;
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::problem::RequestError;
use super::server::{Server, refusal, whole};

/// Timeout of the head of the response.
const OPENING: Duration = Duration::from_secs(10);
/// Frames come once a second: a stream without one for this long is dead, and its connection with it.
const SILENCE: Duration = Duration::from_secs(15);
/// No frame is larger: it has a thousand rows and 64 states at most.
const LARGEST: usize = 4 << 20;

/// The frames of a server, as JSON.
pub(crate) struct EventStream {
    body: Incoming,
    read: EventBuffer,
}

impl Server {
    /// `states`: the buckets whose whole state each frame has.
    ///
    /// # Errors
    /// When it is refused or unanswered.
    pub(crate) async fn events(&self, states: &[String]) -> Result<EventStream, RequestError> {
        let path = format!("/v1/events?states={}", states.join(","));
        let request = self.request(Method::GET, &path, HeaderMap::new(), Bytes::new())?;
        let opened = async {
            let response = self.send(request).await?;
            if !response.status().is_success() {
                return Err(refusal(&whole(response).await?));
            }
            Ok(EventStream { body: response.into_body(), read: EventBuffer::default() })
        };
        tokio::time::timeout(OPENING, opened).await.map_err(|_| RequestError::Silent(OPENING))?
    }
}

impl EventStream {
    /// The next frame. None: the server has ended the stream.
    ///
    /// # Errors
    /// When it is cut off, or nothing comes.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        let next = tokio::time::timeout(SILENCE, self.data()).await;
        next.map_err(|_| RequestError::Silent(SILENCE))?
    }

    async fn data(&mut self) -> Result<Option<Bytes>, RequestError> {
        loop {
            if let Some(data) = self.read.data() {
                return Ok(Some(data));
            }
            if self.read.pending() > LARGEST {
                return Err(RequestError::TooLarge(LARGEST));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            if let Ok(bytes) = frame.map_err(RequestError::cut)?.into_data() {
                self.read.push(&bytes);
            }
        }
    }
}
