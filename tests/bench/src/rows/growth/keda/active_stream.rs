//! A call of `StreamIsActive`, as KEDA makes it. Its two messages are so small that they are written and read by hand.

use std::net::SocketAddr;

use anyhow::Context as _;
use bytes::{BufMut as _, Bytes, BytesMut};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::client::PATIENCE;

const METHOD: &str = "externalscaler.ExternalScaler/StreamIsActive";
/// Of a message: whether it is compressed, and its length.
const HEAD: usize = 5;

pub(super) struct ActiveStream {
    answers: Incoming,
    read: BytesMut,
    connection: JoinHandle<()>,
}

impl ActiveStream {
    pub(super) async fn open(address: SocketAddr, bucket: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        // A connection that ends badly shows as a stream that ends.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let request = Request::post(format!("http://{address}/{METHOD}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Full::new(asked(bucket)?))?;
        let answer = sender.send_request(request).await?;
        anyhow::ensure!(answer.status().is_success(), "the scaler answers {}", answer.status());
        Ok(Self { answers: answer.into_body(), read: BytesMut::new(), connection })
    }

    /// The next change.
    pub(super) async fn next(&mut self) -> anyhow::Result<bool> {
        tokio::time::timeout(PATIENCE, self.message()).await.context("no answer")?
    }

    async fn message(&mut self) -> anyhow::Result<bool> {
        loop {
            let length = self.read.get(1..HEAD).and_then(|length| length.try_into().ok());
            let length = length.map(u32::from_be_bytes).map(usize::try_from).transpose()?;
            if let Some(length) = length
                && self.read.len() >= HEAD + length
            {
                let message = self.read.split_to(HEAD + length);
                // `false` isn't written.
                return Ok(message.ends_with(&[1]) && length > 0);
            }
            let frame = self.answers.frame().await.context("the stream has ended")??;
            if let Ok(data) = frame.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
    }
}

impl Drop for ActiveStream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// `ScaledObjectRef`, with an entry of its field 3.
fn asked(bucket: &str) -> anyhow::Result<Bytes> {
    let mut entry = BytesMut::new();
    for (number, text) in [(1, "bucket"), (2, bucket)] {
        put_text(&mut entry, number, text.as_bytes())?;
    }
    let mut message = BytesMut::new();
    put_text(&mut message, 3, &entry)?;
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len())?);
    framed.extend_from_slice(&message);
    Ok(framed.freeze())
}

/// A field of a type with a length, below 128 bytes.
fn put_text(message: &mut BytesMut, number: u8, text: &[u8]) -> anyhow::Result<()> {
    let length = i8::try_from(text.len()).context("a longer field")?;
    message.put_u8(number << 3 | 2);
    message.put_i8(length);
    message.extend_from_slice(text);
    Ok(())
}
