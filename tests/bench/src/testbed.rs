//! The environment of all rows: one Redis, one upstream, and roles that are started for each measurement.

use std::time::{Duration, Instant};

use dripfeed_store::AppendFsync;

use crate::private_redis::Redis;
use crate::role::{Ready, Role};
use crate::settings::Settings;
use crate::side::{Side, Wanted};
use crate::upstream::Upstream;
use crate::volume::Volume;

/// Timeout for the last jobs to be settled.
const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(5);

pub(crate) struct Testbed {
    pub(crate) volume: &'static Volume,
    pub(crate) redis: Redis,
    pub(crate) upstream: Upstream,
}

impl Testbed {
    pub(crate) async fn start(volume: &'static Volume) -> anyhow::Result<Self> {
        Ok(Self { volume, redis: Redis::start(None).await?, upstream: Upstream::start().await? })
    }

    /// A testbed whose Redis writes to disk.
    pub(crate) async fn durable(volume: &'static Volume, append: AppendFsync) -> anyhow::Result<Self> {
        Ok(Self { volume, redis: Redis::start(Some(append)).await?, upstream: Upstream::start().await? })
    }

    pub(crate) async fn intake(&self, side: Side, settings: &Settings) -> anyhow::Result<Role> {
        self.role(side, "intake", settings).await
    }

    pub(crate) async fn processor(&self, side: Side, settings: &Settings) -> anyhow::Result<Role> {
        self.role(side, "processor", settings).await
    }

    async fn role(&self, side: Side, role: &str, settings: &Settings) -> anyhow::Result<Role> {
        let wanted = Wanted { settings, folder: self.redis.folder() };
        let command = side.role(role, &self.redis.url(), &self.upstream.url(), &wanted)?;
        let ready = if side == Side::Dripfeed { Ready::Asked } else { Ready::Printed };
        Role::start(command, ready).await
    }

    pub(crate) async fn level(&self, side: Side) -> anyhow::Result<u64> {
        let mut level = 0;
        for command in side.level() {
            level += self.redis.ask::<u64>(command).await?;
        }
        Ok(level)
    }

    /// Waits until no job is left.
    pub(crate) async fn settled(&self, side: Side) -> anyhow::Result<()> {
        self.settled_but(side, 0).await
    }

    /// Waits until at most `others` jobs are left.
    pub(crate) async fn settled_but(&self, side: Side, others: u64) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let level = self.level(side).await?;
            if level <= others {
                return Ok(());
            }
            anyhow::ensure!(begun.elapsed() < PATIENCE, "{level} jobs were called and are not settled");
            tokio::time::sleep(GLANCE).await;
        }
    }
}
