//! Reads server-sent events as a browser does, and only counts their bytes.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{PATIENCE, get_request};

/// The start and the end of an event.
const BEGIN: &[u8] = b"event: ";
const END: &[u8] = b"\n\n";
const LARGEST_EVENT: usize = 16 << 20;

pub(crate) struct EventStream {
    stream: TcpStream,
    read: Vec<u8>,
}

impl EventStream {
    pub(crate) async fn open(address: SocketAddr, path: &str) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(address).await.with_context(|| format!("can't connect to {address}"))?;
        stream.write_all(&get_request(address, path)).await?;
        Ok(Self { stream, read: Vec::new() })
    }

    /// Reads the next event. Returns its number of bytes.
    pub(crate) async fn event(&mut self) -> anyhow::Result<usize> {
        loop {
            if let Some(begin) = position(&self.read, BEGIN)
                && let Some(length) = position(self.read.get(begin..).unwrap_or_default(), END)
            {
                let bytes = length + END.len();
                self.read.drain(..begin + bytes);
                return Ok(bytes);
            }
            anyhow::ensure!(self.read.len() < LARGEST_EVENT, "the event is too large");
            let read = timeout(PATIENCE, self.stream.read_buf(&mut self.read)).await.context("no event")??;
            anyhow::ensure!(read > 0, "the stream has ended");
        }
    }
}

/// The path of a page's live updates.
pub(crate) fn of_page(page: &[u8]) -> anyhow::Result<String> {
    let text = String::from_utf8_lossy(page);
    let path = text.split("data-live=\"").nth(1).and_then(|rest| rest.split('"').next());
    Ok(path.context("the page isn't live")?.replace("&amp;", "&"))
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}
