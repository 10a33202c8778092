//! Connects in the background, and logs when that doesn't succeed.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::reconnect_backoff::{pauses, rest};
use super::{Connection, ConnectionState};

/// Who asks for a connection is shown why it can't be made. A command then ends, and a server that was restarted is back:
/// only failures after this time are logged.
const LOGGED_AFTER: Duration = Duration::from_secs(1);

/// The first attempt, which nobody needs to hear of when it succeeds.
pub(super) async fn begin(weak: Weak<Connection>) {
    let Some(connection) = weak.upgrade() else { return };
    match connection.connect().await {
        Ok(handle) => connection.publish(handle),
        Err(error) => {
            connection.settle(ConnectionState::Down(error));
            drop(connection);
            keep_connecting(weak, 0, true).await;
        }
    }
}

/// Connects until it succeeds, the connection is closed, or nobody holds it any more, after a rest when connections
/// don't hold. `is_lost`: the end of the loss is logged.
pub(super) async fn keep_connecting(connection: Weak<Connection>, unsettled: u32, mut is_lost: bool) {
    sleep(rest(unsettled)).await;
    let begun = Instant::now();
    for pause in pauses() {
        let Some(connection) = connection.upgrade().filter(|connection| !connection.is_closed()) else { return };
        let redis = connection.connector.address();
        match connection.connect().await {
            Ok(handle) => {
                if is_lost {
                    connection.log.reconnected(redis);
                }
                connection.publish(handle);
                return;
            }
            Err(error) => {
                is_lost = true;
                if begun.elapsed() >= LOGGED_AFTER {
                    connection.log.cannot_connect(redis, &error);
                }
                connection.settle(ConnectionState::Down(error));
            }
        }
        drop(connection);
        sleep(pause).await;
    }
}
