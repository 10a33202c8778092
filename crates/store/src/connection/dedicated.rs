use redis::{Cmd, FromRedisValue, aio::MultiplexedConnection};

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
