//! The doorbell: waits until a stream has an entry after a known one, and takes nothing.
//!
//! It reads the stream and not the group, because a blocking group read whose caller has gone still takes the next
//! entry.

use std::time::Duration;

use dripfeed_store::{Dedicated, Store};
use tokio::sync::Mutex;

/// How much longer than it should a blocking read may take before its connection is given up.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct Doorbell {
    /// A separate connection, because a blocked one answers nothing else.
    connection: Mutex<Option<Dedicated>>,
}

impl Doorbell {
    /// Returns when `stream` has an entry after `last_id`, or after `most`. Without Redis it waits `most`.
    pub(crate) async fn wait(&self, store: &Store, stream: &str, last_id: &str, most: Duration) {
        let ms = most.as_millis().max(1);
        let mut read = redis::cmd("XREAD");
        read.arg("COUNT").arg(1).arg("BLOCK").arg(ms.to_string()).arg("STREAMS").arg(stream).arg(last_id);
        let mut slot = self.connection.lock().await;
        let connection = match slot.take() {
            Some(connection) => Ok(connection),
            None => store.dedicated().await,
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
