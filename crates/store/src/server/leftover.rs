//! Shuts down a server that a killed process left running: it still responds on its socket, but its folder isn't
//! locked.

use std::collections::HashMap;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::STOP_TIMEOUT;
use super::error::ServerError;
use super::folder::Folder;
use crate::durability::Durability;
use crate::settings::RedisSettings;
use crate::store::Store;

/// Shuts the server down, which saves its data. The caller must have locked the folder.
///
/// # Errors
/// When another server responds there, or it doesn't exit.
pub(super) async fn shut_down(folder: &Folder) -> Result<(), ServerError> {
    let Some(mut connection) = folder.connect().await else { return Ok(()) };
    let settings = RedisSettings::new(folder.address(), "", Durability::Process);
    let Ok(server) = Store::connect(&settings).await else { return Err(folder.already_running()) };
    let is_ours = belongs_to(folder, &server).await;
    // Closed before the server ends, so that its end isn't logged as an outage.
    server.close();
    if !is_ours {
        return Err(folder.already_running());
    }
    // Ignores the result: SHUTDOWN doesn't reply, and after a refusal the connection isn't closed.
    let _ = connection.write_all(b"SHUTDOWN\r\n").await;
    if tokio::time::timeout(STOP_TIMEOUT, wait_until_closed(&mut connection)).await.is_err() {
        return Err(folder.already_running());
    }
    tracing::info!(dir = %folder.path().display(), "shut down the Redis server that an earlier process left running");
    Ok(())
}

/// Checks the server's directory, because the socket may be a link to that of another server.
async fn belongs_to(folder: &Folder, server: &Store) -> bool {
    let settings = server.command::<HashMap<String, String>>(redis::cmd("CONFIG").arg("GET").arg("dir")).await;
    settings.is_ok_and(|settings| settings.get("dir").is_some_and(|dir| folder.is_at(dir)))
}

/// The kernel closes the connection when the process has saved its data and exited.
async fn wait_until_closed(connection: &mut UnixStream) {
    let mut ignored = [0; 64];
    while matches!(connection.read(&mut ignored).await, Ok(1..)) {}
}
