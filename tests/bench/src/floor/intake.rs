//! One EVALSHA for each POST: 202, or 429 at the capacity.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use redis::aio::MultiplexedConnection;
use tokio::net::TcpListener;

use crate::STREAM;

const ENQUEUE: &str = "
    if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return false end
    return redis.call('XADD', KEYS[1], '*', 'body', ARGV[2])";

struct Queue {
    redis: MultiplexedConnection,
    script: String,
    capacity: u64,
}

pub(crate) async fn run(redis: &str, capacity: u64) -> anyhow::Result<()> {
    let mut redis = redis::Client::open(redis)?.get_multiplexed_async_connection().await?;
    let script = redis::cmd("SCRIPT").arg("LOAD").arg(ENQUEUE).query_async(&mut redis).await?;
    let queue = Arc::new(Queue { redis, script, capacity });
    let app = Router::new().route("/jobs", post(enqueue)).with_state(queue);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    // Without it an answer may wait for the caller's acknowledgement.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

async fn enqueue(State(queue): State<Arc<Queue>>, body: Bytes) -> (StatusCode, String) {
    let mut command = redis::cmd("EVALSHA");
    command.arg(&queue.script).arg(1).arg(STREAM).arg(queue.capacity).arg(&body[..]);
    match command.query_async::<Option<String>>(&mut queue.redis.clone()).await {
        Ok(Some(id)) => (StatusCode::ACCEPTED, id),
        Ok(None) => (StatusCode::TOO_MANY_REQUESTS, String::new()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}
