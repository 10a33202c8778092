use std::time::Duration;

use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use tempfile::TempDir;

/// A server in its own folder, with a store on it.
pub(crate) struct Bench {
    pub(crate) store: Store,
    pub(crate) server: PrivateServer,
    pub(crate) dir: TempDir,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(ServerOptions::default()).await
    }

    pub(crate) async fn with(options: ServerOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = PrivateServer::start(dir.path(), options).await.unwrap();
        let store = Store::connect(&settings(&server)).await.unwrap();
        Self { store, server, dir }
    }
}

/// Calls have more time than a busy machine stands still for.
pub(crate) fn settings(server: &PrivateServer) -> RedisSettings {
    let (connect_timeout, response_timeout) = (Duration::from_secs(2), Duration::from_secs(2));
    let settings = RedisSettings::new(server.address(), "test", Durability::Everysec);
    RedisSettings { connect_timeout, response_timeout, ..settings }
}

/// Options with more arguments for the server, parted by spaces.
pub(crate) fn arguments(arguments: &str) -> ServerOptions {
    let arguments = arguments.split_whitespace().map(str::to_owned).collect();
    ServerOptions { arguments, ..ServerOptions::default() }
}
