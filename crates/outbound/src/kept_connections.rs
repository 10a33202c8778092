//! Connections that nothing is under way on, for the next request.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::keep_alive::IDLE_TIMEOUT;

const MOST_IDLE: usize = 256;

/// Closed when dropped, whatever is under way on it.
pub(crate) struct OpenConnection {
    pub(crate) requests: SendRequest<Full<Bytes>>,
    pub(crate) task: AbortOnDropHandle<()>,
    /// How long it may be kept after its latest answer.
    pub(crate) idle_time: Duration,
}

impl OpenConnection {
    fn is_quiet_too_long(&self, since: Instant) -> bool {
        self.requests.is_closed() || since.elapsed() >= self.idle_time
    }

    /// One that nothing is under way on, as its protocol closes it.
    fn close(self) {
        self.task.detach();
    }
}

/// The last is used next, so that no more are kept than are needed.
#[derive(Default)]
pub(crate) struct KeptConnections(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    connections: Vec<(OpenConnection, Instant)>,
    /// Whether a task closes those that are quiet.
    is_watched: bool,
}

impl KeptConnections {
    pub(crate) fn take(&self) -> Option<OpenConnection> {
        let mut kept = self.0.lock();
        while let Some((connection, since)) = kept.connections.pop() {
            if connection.requests.is_ready() && !connection.is_quiet_too_long(since) {
                return Some(connection);
            }
            connection.close();
        }
        None
    }

    pub(crate) fn put(self: &Arc<Self>, connection: OpenConnection) {
        let mut kept = self.0.lock();
        if kept.connections.len() >= MOST_IDLE {
            return connection.close();
        }
        kept.connections.push((connection, Instant::now()));
        if !kept.is_watched {
            kept.is_watched = true;
            tokio::spawn(close_quiet(Arc::downgrade(self)));
        }
    }

    /// Whether some are left.
    fn close_quiet(&self) -> bool {
        let mut kept = self.0.lock();
        let quiet = kept.connections.extract_if(.., |(connection, since)| connection.is_quiet_too_long(*since));
        quiet.for_each(|(connection, _)| connection.close());
        kept.is_watched = !kept.connections.is_empty();
        kept.is_watched
    }
}

async fn close_quiet(kept: Weak<KeptConnections>) {
    loop {
        sleep(IDLE_TIMEOUT / 4).await;
        if !kept.upgrade().is_some_and(|kept| kept.close_quiet()) {
            return;
        }
    }
}
