//! Blocking reads: each over a separate connection, because a blocked one answers nothing else.

use std::time::Duration;

use redis::{Cmd, FromRedisValue, aio::MultiplexedConnection};
use tokio::sync::Mutex;

use crate::error::{Operation, StoreError};

/// A separate connection for blocking reads: no response timeout, nothing queued behind.
///
/// A blocking read whose future was dropped still runs on the server and takes what comes next,
/// unseen. So [`Dedicated::command`] takes the connection and gives it back with the reply: when
/// its future is dropped, or fails, the connection is closed.
pub struct Dedicated {
    connection: MultiplexedConnection,
    on_failure: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Dedicated {
    pub(crate) fn new(connection: MultiplexedConnection) -> Self {
        Self { connection, on_failure: None }
    }

    /// Calls `on_failure` when a command fails.
    pub(crate) fn or_else(self, on_failure: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { on_failure: Some(Box::new(on_failure)), ..self }
    }

    /// Runs `cmd` and waits for its reply, however long that takes.
    ///
    /// # Errors
    /// The connection is gone with any error; get a new one by [`crate::Store::dedicated`].
    pub async fn command<T: FromRedisValue>(mut self, cmd: &Cmd) -> Result<(Self, T), StoreError> {
        match cmd.query_async(&mut self.connection).await {
            Ok(reply) => Ok((self, reply)),
            Err(error) => {
                if let Some(on_failure) = self.on_failure {
                    on_failure();
                }
                Err(StoreError::calling(Operation::Command(cmd), error))
            }
        }
    }
}

/// How much longer than it should a blocking read may take before its connection is given up.
const GRACE: Duration = Duration::from_secs(2);

/// Waits until a stream has an entry after a known one, and takes nothing.
///
/// It reads the stream and not a group of it, because a blocking group read whose caller has gone still takes the next
/// entry.
#[derive(Default)]
pub struct Doorbell {
    /// Between two waits.
    connection: Mutex<Option<Dedicated>>,
}

impl Doorbell {
    /// Returns when `stream` has an entry after `last_id`, or after `most`. Without Redis it waits `most`. `connect` is
    /// [`crate::Store::dedicated`], awaited only where the last connection isn't there any more.
    pub async fn wait(
        &self,
        connect: impl Future<Output = Result<Dedicated, StoreError>>,
        stream: &str,
        last_id: &str,
        most: Duration,
    ) {
        let ms = most.as_millis().max(1);
        let mut read = redis::cmd("XREAD");
        read.arg("COUNT").arg(1).arg("BLOCK").arg(ms.to_string()).arg("STREAMS").arg(stream).arg(last_id);
        let mut slot = self.connection.lock().await;
        let connection = match slot.take() {
            Some(connection) => Ok(connection),
            None => connect.await,
        };
        let Ok(connection) = connection else {
            drop(slot);
            return tokio::time::sleep(most).await;
        };
        // A read that failed or hangs took its connection with it.
        match tokio::time::timeout(most + GRACE, connection.command::<redis::Value>(&read)).await {
            Ok(Ok((connection, _))) => *slot = Some(connection),
            Ok(Err(_)) => tokio::time::sleep(most).await,
            Err(_) => {}
        }
    }
}
