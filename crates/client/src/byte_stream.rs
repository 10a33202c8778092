//! Streaming responses, such as `GET /v1/events`.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_outbound::PooledConnection;
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::call::{read_response, refusal};
use crate::client::Client;
use crate::client_error::ClientError;

/// A streamed response body.
#[derive(Debug)]
pub struct ByteStream {
    body: Incoming,
    /// Closed when the stream is dropped.
    _connection: PooledConnection,
}

impl Client {
    /// Opens a stream. `within` is the timeout for the head of the response.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn stream(&self, path: &str, within: Duration) -> Result<ByteStream, ClientError> {
        let request = self.request(Method::GET, path, HeaderMap::new(), Bytes::new())?;
        let open = async {
            let (response, connection) = self.send(request).await?;
            if !response.status().is_success() {
                return Err(refusal(&read_response((response, connection)).await?));
            }
            Ok(ByteStream { body: response.into_body(), _connection: connection })
        };
        tokio::time::timeout(within, open).await.map_err(|_| ClientError::Silent(within))?
    }
}

impl ByteStream {
    /// Waits for the next bytes, without a timeout. Returns `None` if the server has ended the stream.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(bytes) = frame.map_err(|error| ClientError::Cut(Box::new(error)))?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}
