//! The Redis of an experiment: a private server, or a given one, from which the experiment removes its keys.

use std::time::{Duration, Instant};

use dripfeed_limit::{Limiter, Policies, load};
use dripfeed_store::{Address, AppendFsync, Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use redis::cmd;
use tempfile::TempDir;

use crate::clock::Clock;
use crate::error::LabError;
use crate::time_series;

pub struct Testbed {
    server: Option<(PrivateServer, TempDir)>,
    address: Address,
    prefix: String,
    store: Store,
    clock: Clock,
}

impl Testbed {
    /// Starts a private server without persistence.
    ///
    /// # Errors
    /// When none is installed, or it doesn't start.
    pub async fn private() -> Result<Self, LabError> {
        let folder = tempfile::tempdir()?;
        let options = ServerOptions { append_only: false, append_fsync: AppendFsync::No, ..ServerOptions::default() };
        let server = PrivateServer::start(folder.path(), options).await?;
        let address = server.address();
        Self::new(Some((server, folder)), address, "dripfeed-lab".to_owned()).await
    }

    /// Connects to a server that others may use: the keys of the experiment have a unique prefix.
    ///
    /// # Errors
    /// When it can't be reached.
    pub async fn shared(address: Address) -> Result<Self, LabError> {
        let name = format!("dripfeed-lab-{}-{}", std::process::id(), Clock::unix_ms());
        Self::new(None, address, name).await
    }

    /// # Errors
    /// When the server has no time series.
    pub async fn require_time_series(&self) -> Result<(), LabError> {
        time_series::require(&self.store).await
    }

    async fn new(server: Option<(PrivateServer, TempDir)>, address: Address, prefix: String) -> Result<Self, LabError> {
        let store = Store::connect(&patient(address.clone(), &prefix)).await?;
        let clock = Clock::of(&store).await?;
        Ok(Self { server, address, prefix, store, clock })
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        patient(self.address.clone(), &self.prefix)
    }

    /// Opens another connection, like that of another process.
    pub(crate) async fn connect(&self) -> Result<Store, LabError> {
        Ok(Store::connect(&self.settings()).await?)
    }

    /// Returns a key for a published approach.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}:published:{name}", self.prefix)
    }

    /// Returns the key of the jobs of a dripfeed bucket, a stream.
    pub(crate) fn jobs_key(&self, bucket: &str) -> String {
        format!("{}:{{{bucket}}}:jobs", self.prefix)
    }

    /// Creates a limiter of a separate replica, with policies in YAML.
    pub(crate) async fn limiter(&self, service: &str, policies: &str) -> Result<Limiter, LabError> {
        self.limiter_by(service, load::yaml(policies)?).await
    }

    pub(crate) async fn limiter_by(&self, service: &str, policies: Policies) -> Result<Limiter, LabError> {
        Ok(Limiter::new(self.connect().await?, service, policies)?)
    }

    /// Removes all keys of the experiment, and stops the private server.
    ///
    /// # Errors
    /// When Redis doesn't answer, or the private server fails to stop.
    pub async fn leave(self) -> Result<(), LabError> {
        match self.server {
            Some((server, folder)) => {
                server.stop().await?;
                Ok(folder.close()?)
            }
            None => remove_keys(&self.store, &self.prefix).await,
        }
    }
}

async fn remove_keys(store: &Store, prefix: &str) -> Result<(), LabError> {
    let mut cursor = 0_u64;
    loop {
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(format!("{prefix}:*")).arg("COUNT").arg(1000);
        let (next, keys): (u64, Vec<String>) = store.command(&scan).await?;
        if !keys.is_empty() {
            store.command::<u64>(cmd("UNLINK").arg(keys)).await?;
        }
        if next == 0 {
            return Ok(());
        }
        cursor = next;
    }
}

/// Sleeps until an instant. Returns at once if it has passed.
pub(crate) async fn sleep_until(instant: Instant) {
    tokio::time::sleep_until(instant.into()).await;
}

/// Long, so that a machine that is suspended for a second fails no experiment.
fn patient(address: Address, prefix: &str) -> RedisSettings {
    const PATIENCE: Duration = Duration::from_secs(10);
    let settings = RedisSettings::new(address, prefix, Durability::Process);
    RedisSettings { connect_timeout: PATIENCE, response_timeout: PATIENCE, ..settings }
}
