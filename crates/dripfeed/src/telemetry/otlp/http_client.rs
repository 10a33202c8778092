//! The HTTP client of the exporter, over rustls with ring.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use dripfeed_outbound::{Dial, HttpClient as OriginClient};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper_rustls::HttpsConnectorBuilder;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::time::timeout;

/// The timeout of a whole request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// In bytes. Responses are short.
const MAX_RESPONSE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct ExportClient(OriginClient);

impl ExportClient {
    pub(super) fn new(endpoint: Uri) -> Self {
        let https = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
        Self(OriginClient::new(Arc::new(Dial::new(https)), endpoint))
    }
}

#[async_trait]
impl HttpClient for ExportClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = async {
            let (response, connection) = self.0.request(request.map(Full::new)).await?;
            let (head, body) = response.into_parts();
            let body = connection.read(body, MAX_RESPONSE).await?;
            Ok(Response::from_parts(head, body))
        };
        timeout(TIMEOUT, response).await?
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::future::pending;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Sends more spans than sockets buffer to a receiver that reads only their beginning, and answers with `head`,
    /// then endlessly with `rest`. Also returns a channel that is closed once the spans are released.
    async fn sent(
        head: &'static [u8],
        rest: &'static [u8],
    ) -> (Result<Response<Bytes>, HttpError>, mpsc::Receiver<()>) {
        struct Spans(Vec<u8>, #[expect(dead_code, reason = "dropped with it")] mpsc::Sender<()>);
        impl AsRef<[u8]> for Spans {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Uri = format!("http://{}/v1/traces", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 16]).await.unwrap();
            stream.write_all(head).await.unwrap();
            while !rest.is_empty() && stream.write_all(rest).await.is_ok() {}
            pending::<()>().await;
        });
        let (owner, gone) = mpsc::channel(1);
        let spans = Bytes::from_owner(Spans(vec![b'x'; 32 << 20], owner));
        let request = Request::post(url.clone()).body(spans).unwrap();
        let sent = timeout(PATIENCE, ExportClient::new(url).send_bytes(request)).await.unwrap();
        (sent, gone)
    }

    async fn are_released(mut spans: mpsc::Receiver<()>) {
        assert!(timeout(PATIENCE, spans.recv()).await.is_ok(), "the spans are kept for the receiver");
    }

    #[tokio::test]
    async fn a_receiver_that_answers_without_reading_keeps_nothing() {
        let (answer, spans) = sent(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"").await;
        assert_eq!(answer.unwrap().status(), 200);
        are_released(spans).await;
    }

    #[tokio::test]
    async fn a_receiver_that_never_answers_keeps_nothing() {
        let half = b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\nand no more";
        let (nothing, half) = tokio::join!(sent(b"", b""), sent(half, b""));
        for (answer, spans) in [nothing, half] {
            assert!(answer.is_err(), "{answer:?}");
            are_released(spans).await;
        }
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_cut() {
        for (head, rest) in [
            (&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; 1 << 16][..]),
            (b"HTTP/1.1 200 OK\r\nX: ", &[b'x'; 1 << 16]),
            (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ] {
            let (answer, spans) = sent(head, rest).await;
            assert!(answer.is_err(), "{answer:?}");
            are_released(spans).await;
        }
    }
}
