//! Reads a hundred entries at once, calls the upstream for each, and acknowledges and deletes what was called.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Semaphore, mpsc};

use crate::STREAM;

const GROUP: &str = "processors";
const READ_AT_ONCE: usize = 100;
const IN_FLIGHT: usize = 200;
/// How long a read waits for entries.
const BLOCK_MS: usize = 1000;

/// Streams with entries of one field each.
type Read = Vec<(String, Vec<(String, (String, Bytes))>)>;
pub(crate) type HttpClient = Client<HttpConnector, Full<Bytes>>;

pub(crate) async fn run(redis: &str, upstream: Uri) -> anyhow::Result<()> {
    let redis = redis::Client::open(redis)?;
    // A read that waits would delay what is acknowledged, so each has a connection.
    let blocking = AsyncConnectionConfig::new().set_response_timeout(None);
    let mut reader = redis.get_multiplexed_async_connection_with_config(&blocking).await?;
    let writer = redis.get_multiplexed_async_connection().await?;
    let mut group = redis::cmd("XGROUP");
    group.arg("CREATE").arg(STREAM).arg(GROUP).arg(0).arg("MKSTREAM");
    match group.exec_async(&mut reader).await {
        Err(error) if error.code() != Some("BUSYGROUP") => return Err(error.into()),
        _ => {}
    }
    let (called, calls) = mpsc::channel(READ_AT_ONCE * 10);
    tokio::spawn(acknowledge(writer, calls));
    let http = client();
    let room = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut read = redis::cmd("XREADGROUP");
    read.arg("GROUP").arg(GROUP).arg("floor").arg("COUNT").arg(READ_AT_ONCE).arg("BLOCK").arg(BLOCK_MS);
    read.arg("STREAMS").arg(STREAM).arg(">");
    eprintln!("ready");
    loop {
        let entries: Option<Read> = read.query_async(&mut reader).await?;
        for (id, (_, body)) in entries.into_iter().flatten().flat_map(|(_, entries)| entries) {
            let permit = Arc::clone(&room).acquire_owned().await?;
            let (http, upstream, called) = (http.clone(), upstream.clone(), called.clone());
            tokio::spawn(async move {
                if call(&http, upstream, body).await.is_ok() {
                    drop(called.send(id).await);
                }
                drop(permit);
            });
        }
    }
}

pub(crate) fn client() -> HttpClient {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(tcp)
}

/// The answer is read, so that its connection can be used again.
pub(crate) async fn call(http: &HttpClient, upstream: Uri, body: Bytes) -> anyhow::Result<()> {
    let request = Request::post(upstream).header("content-type", "application/json").body(Full::new(body))?;
    let answer = http.request(request).await?;
    anyhow::ensure!(answer.status().is_success(), "the upstream answered {}", answer.status());
    answer.into_body().collect().await?;
    Ok(())
}

/// All that has been called since the last time, in one pipeline.
async fn acknowledge(mut redis: MultiplexedConnection, mut calls: mpsc::Receiver<String>) {
    let mut ids = Vec::new();
    while calls.recv_many(&mut ids, IN_FLIGHT).await > 0 {
        let mut pipeline = redis::pipe();
        pipeline.cmd("XACK").arg(STREAM).arg(GROUP).arg(&ids).cmd("XDEL").arg(STREAM).arg(&ids);
        if let Err(error) = pipeline.exec_async(&mut redis).await {
            eprintln!("{} entries could not be acknowledged: {error}", ids.len());
        }
        ids.clear();
    }
}
