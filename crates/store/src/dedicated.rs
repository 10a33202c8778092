use redis::{Cmd, FromRedisValue, aio::MultiplexedConnection};

use crate::error::{During, StoreError};

/// A connection of its own for blocking reads: no response timeout, nothing queued behind.
///
/// A blocking read whose future was dropped still runs on the server and takes what comes next,
/// unseen. So [`Dedicated::command`] takes the connection and gives it back with the reply: when
/// its future is dropped, or fails, the connection is closed.
#[derive(Debug)]
pub struct Dedicated {
    connection: MultiplexedConnection,
}

impl Dedicated {
    pub(crate) fn new(connection: MultiplexedConnection) -> Self {
        Self { connection }
    }

    /// Runs `cmd` and waits for its reply, however long that takes.
    ///
    /// # Errors
    /// The connection is gone with any error; get a new one by [`crate::Store::dedicated`].
    pub async fn command<T: FromRedisValue>(mut self, cmd: &Cmd) -> Result<(Self, T), StoreError> {
        let reply = cmd
            .query_async(&mut self.connection)
            .await
            .map_err(|error| StoreError::calling(During::Command(cmd), error))?;
        Ok((self, reply))
    }
}
