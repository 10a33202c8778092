use std::sync::Arc;

use redis::{Cmd, FromRedisValue, aio::MultiplexedConnection};

use crate::{
    cluster::Cluster,
    error::{During, StoreError},
};

/// A connection of its own for blocking reads: no response timeout, nothing queued behind.
///
/// A blocking read whose future was dropped still runs on the server and takes what comes next,
/// unseen. So [`Dedicated::command`] takes the connection and gives it back with the reply: when
/// its future is dropped, or fails, the connection is closed.
pub struct Dedicated {
    connection: MultiplexedConnection,
    /// The Cluster that it belongs to: a failure may mean that another node serves the slot now.
    cluster: Option<Arc<Cluster>>,
}

impl Dedicated {
    pub(crate) fn new(connection: MultiplexedConnection) -> Self {
        Self { connection, cluster: None }
    }

    pub(crate) fn within(self, cluster: &Arc<Cluster>) -> Self {
        Self { cluster: Some(Arc::clone(cluster)), ..self }
    }

    /// Runs `cmd` and waits for its reply, however long that takes.
    ///
    /// # Errors
    /// The connection is gone with any error; get a new one by [`crate::Store::dedicated`].
    pub async fn command<T: FromRedisValue>(mut self, cmd: &Cmd) -> Result<(Self, T), StoreError> {
        match cmd.query_async(&mut self.connection).await {
            Ok(reply) => Ok((self, reply)),
            Err(error) => {
                if let Some(cluster) = &self.cluster {
                    cluster.look_soon();
                }
                Err(StoreError::calling(During::Command(cmd), error))
            }
        }
    }
}
