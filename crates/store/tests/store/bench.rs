use std::hash::{BuildHasher as _, RandomState};
use std::net::TcpListener;

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

pub(crate) fn settings(server: &PrivateServer) -> RedisSettings {
    RedisSettings::new(server.address(), "test", Durability::Everysec)
}

/// A port of 127.0.0.1 that was free a moment ago. Below those that the system gives to outgoing connections: one of
/// these could have it before the server that is to listen there.
pub(crate) fn free_port() -> u16 {
    let random = || RandomState::new().hash_one("port") % 20_000 + 10_000;
    let mut tries = std::iter::repeat_with(random).take(1000).map(|port| u16::try_from(port).unwrap());
    tries.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// Options with more arguments for the server, parted by spaces.
pub(crate) fn arguments(arguments: &str) -> ServerOptions {
    let arguments = arguments.split_whitespace().map(str::to_owned).collect();
    ServerOptions { arguments, ..ServerOptions::default() }
}
