//! A private Redis for one test: on a unix socket, in a folder of its own, gone with the test.

use std::path::Path;
use std::time::{Duration, Instant};

use dripfeed_store::{Durability, ErrorKind, PrivateServer, RedisSettings, ServerOptions, Store, StoreError};
use redis::FromRedisValue;
use tempfile::TempDir;

use crate::service::PATIENCE;

/// What a service can run over.
pub trait RunningRedis {
    /// The `redis.url` to reach it.
    fn url(&self) -> String;

    /// Where a test may put files of its own; gone with the test.
    fn folder(&self) -> &Path;
}

impl RunningRedis for TestRedis {
    fn url(&self) -> String {
        self.server.url()
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A port of 127.0.0.1 that was free a moment ago.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound port").port()
}

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

    /// The answer to a command that only a test gives it, as words; given again when the connection is lost or the server
    /// loads its data, as it does when it becomes a replica.
    ///
    /// # Panics
    /// When it refuses.
    pub async fn tell<T: FromRedisValue>(&self, words: &str) -> T {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().expect("a command"));
        words.for_each(|word| {
            command.arg(word);
        });
        let begun = Instant::now();
        loop {
            let told = async { self.connect().await?.command(&command).await };
            match told.await {
                Ok(answer) => return answer,
                Err(error) if is_for_a_while(&error) && begun.elapsed() < PATIENCE => tokio::task::yield_now().await,
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Replicas that follow it now.
    pub async fn followers(&self) -> usize {
        self.tell::<String>("INFO replication").await.matches("state=online").count()
    }

    pub async fn is_master(&self) -> bool {
        self.tell::<String>("INFO replication").await.contains("role:master")
    }

    pub async fn store(&self) -> Store {
        self.connect().await.expect("the private redis-server answers")
    }

    async fn connect(&self) -> Result<Store, StoreError> {
        let mut settings = RedisSettings::new(self.server.address().clone(), "dripfeed", Durability::Everysec);
        // A server that follows another one anew takes its time.
        settings.response_timeout = Duration::from_secs(10);
        Store::connect(&settings).await
    }
}

fn is_for_a_while(error: &StoreError) -> bool {
    error.kind() == ErrorKind::Unreachable || error.code() == Some("LOADING")
}
