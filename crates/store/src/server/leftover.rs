//! A server whose starter was killed: nobody has the lock of its folder, and it still answers on its socket.

use std::collections::HashMap;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::STOP_LIMIT;
use super::error::ServerError;
use super::folder::Folder;
use crate::durability::Durability;
use crate::settings::RedisSettings;
use crate::store::Store;

/// Shuts it down, so that it saves its data and ends. The lock of the folder is ours.
///
/// # Errors
/// When what answers there isn't the server of this folder, or doesn't end.
pub(super) async fn shut_down(folder: &Folder) -> Result<(), ServerError> {
    let Some(mut connection) = folder.connect().await else { return Ok(()) };
    let settings = RedisSettings::new(folder.address(), "", Durability::Process);
    let Ok(server) = Store::connect(&settings).await else { return Err(folder.already_running()) };
    let is_ours = is_of(folder, &server).await;
    // Before it ends: nobody is to report that as an outage.
    server.close();
    if !is_ours {
        return Err(folder.already_running());
    }
    // Its answer is the end of the connection; that it refuses, or got no request, shows in that this doesn't come.
    let _ = connection.write_all(b"SHUTDOWN\r\n").await;
    if tokio::time::timeout(STOP_LIMIT, until_closed(&mut connection)).await.is_err() {
        return Err(folder.already_running());
    }
    tracing::info!(dir = %folder.path().display(), "shut down the Redis server that an earlier process left running");
    Ok(())
}

/// Its socket alone could be a link to that of another.
async fn is_of(folder: &Folder, server: &Store) -> bool {
    let found = server.command::<HashMap<String, String>>(redis::cmd("CONFIG").arg("GET").arg("dir")).await;
    found.is_ok_and(|found| found.get("dir").is_some_and(|dir| folder.is_at(dir)))
}

/// The kernel closes it with the process, after that has written its data.
async fn until_closed(connection: &mut UnixStream) {
    let mut ignored = [0; 64];
    while matches!(connection.read(&mut ignored).await, Ok(1..)) {}
}
