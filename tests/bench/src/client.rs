//! One connection of the load. It sends prepared bytes, and parses only the status and the end of a response, because
//! the load must need much less CPU time than the intake.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Timeout of a response.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const LARGEST_ANSWER: usize = 64 << 20;

pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("can't connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::with_capacity(4096) })
    }

    /// The body of the last response.
    pub(crate) fn body(&self) -> &[u8] {
        let head = self.read.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |head| head + 4);
        self.read.get(head..).unwrap_or_default()
    }

    /// Sends a request, and returns the status of its answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<u16> {
        self.stream.write_all(request).await?;
        self.read.clear();
        loop {
            if let Some((status, length)) = parse(&self.read)?
                && self.read.len() >= length
            {
                return Ok(status);
            }
            anyhow::ensure!(self.read.len() < LARGEST_ANSWER, "the answer is too large");
            anyhow::ensure!(self.stream.read_buf(&mut self.read).await? > 0, "the connection was closed");
        }
    }
}

/// The status, and the length of head and body; `None` while the head is incomplete.
fn parse(answer: &[u8]) -> anyhow::Result<Option<(u16, usize)>> {
    let Some(head) = answer.windows(4).position(|end| end == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(answer.get(..head).unwrap_or_default())?;
    let status = text.get(9..12).and_then(|digits| digits.parse().ok()).context("an answer without a status")?;
    let lengths = text.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (_, length) = lengths.next().context("an answer without a length")?;
    Ok(Some((status, head + 4 + length.trim().parse::<usize>()?)))
}

/// A POST as bytes.
pub(crate) fn post(address: SocketAddr, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    with_body("POST", address, path, headers, body)
}

/// A PUT of JSON as bytes.
pub(crate) fn put(address: SocketAddr, path: &str, document: &str) -> Vec<u8> {
    with_body("PUT", address, path, &[("content-type", "application/json")], document.as_bytes())
}

fn with_body(method: &str, address: SocketAddr, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
    request += "\r\n";
    [request.as_bytes(), body].concat()
}

/// A GET of a page as bytes.
pub(crate) fn get_request(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: text/html,*/*\r\n\r\n").into_bytes()
}

/// The body of a GET, on a new connection.
pub(crate) async fn fetch(address: SocketAddr, path: &str) -> anyhow::Result<Vec<u8>> {
    let mut connection = Connection::open(address).await?;
    let status = connection.exchange(&get_request(address, path)).await?;
    anyhow::ensure!(status == 200, "{path} is answered with {status}");
    Ok(connection.body().to_vec())
}

/// The status of a GET, on a new connection.
pub(crate) async fn get(address: SocketAddr, path: &str) -> anyhow::Result<u16> {
    Connection::open(address).await?.exchange(&get_request(address, path)).await
}
