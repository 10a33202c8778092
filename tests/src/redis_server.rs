//! A private Redis for one test: on a unix socket, in a folder of its own, gone with the test.

use std::path::Path;

use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use tempfile::TempDir;

pub struct TestRedis {
    pub server: PrivateServer,
    folder: TempDir,
}

impl TestRedis {
    pub async fn start() -> Self {
        Self::with(ServerOptions::default()).await
    }

    pub async fn with(options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let server = PrivateServer::start(folder.path(), options).await.expect("a private redis-server");
        Self { server, folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub async fn store(&self) -> Store {
        let settings = RedisSettings::new(self.server.address().clone(), "dripfeed", Durability::Everysec);
        Store::connect(&settings).await.expect("the private redis-server answers")
    }
}
