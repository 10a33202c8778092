//! Sweeps find jobs without an announcement: entries of a plain `XADD`, and jobs whose message was lost. Of all
//! processes that serve the same buckets, one sweeps often, and announces what it finds.

use std::time::Duration;

use dripfeed_store::{InstallationKeys, Script};
use futures::StreamExt;

use crate::bucket::Bucket;
use crate::deliver::replica::{Consumer, announce};
use crate::error::BucketError;
use crate::inspect::count_each::count_each;
use crate::settings::Kind;

static SCRIPT: Script = Script::new("sweeper", &[], include_str!("sweeper.lua"));

/// The interval of sweeps.
pub const SWEEP_INTERVAL: Duration = Duration::from_millis(900);
/// A sweeper that misses three sweeps is replaced.
const SWEEPER_TTL: Duration = Duration::from_millis(2700);
/// The other processes sweep once in this many intervals, in case a message of the sweeper is lost.
const SWEEPS_OF_OTHERS: u32 = 20;

const CONCURRENT_MESSAGES: usize = 50;

/// What a process does at an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// This process sweeps, and announces what it finds.
    ForAll,
    /// This process sweeps, and wakes only its own lanes.
    ForItself,
    /// Another process sweeps.
    Skipped,
}

/// Decides by turns with other processes which of them sweeps the buckets that all of them serve.
#[derive(Debug)]
pub struct Sweeper {
    process: Consumer,
    sweeps: u32,
}

impl Sweeper {
    /// Creates the sweeper of a process, whose name must be unique.
    #[must_use]
    pub const fn new(process: Consumer) -> Self {
        Self { process, sweeps: 0 }
    }

    /// Returns what this process, which serves exactly the buckets of `served`, does now. If Redis returns an error,
    /// for example at `maxmemory`, each process sweeps for itself.
    pub async fn next_sweep(&mut self, served: &[Bucket]) -> Sweep {
        let Some(first) = served.first() else { return Sweep::Skipped };
        self.sweeps = self.sweeps.wrapping_add(1);
        let store = &first.redis_bucket.store;
        let set = served.iter().map(|bucket| &bucket.redis_bucket.keys);
        let mut call = SCRIPT.on(&[InstallationKeys::new(store.prefix()).sweeper(set)]);
        call.arg(self.process.as_str()).arg(SWEEPER_TTL.as_millis());
        match store.run::<u8>(&call).await {
            Ok(0) if !self.sweeps.is_multiple_of(SWEEPS_OF_OTHERS) => Sweep::Skipped,
            Ok(0) | Err(_) => Sweep::ForItself,
            Ok(_) => Sweep::ForAll,
        }
    }
}

/// Returns which of the buckets have jobs. Buckets that can't be read are omitted.
///
/// # Errors
/// When Redis can't be reached, or doesn't answer in time.
pub async fn with_jobs(buckets: &[Bucket]) -> Result<Vec<bool>, BucketError> {
    Ok(count_each(buckets, count_of).await?.into_iter().map(|jobs| jobs > 0).collect())
}

/// Doesn't count claimed elements of a list: the replica that claimed them is a member.
fn count_of(bucket: &Bucket) -> redis::Cmd {
    let mut count = match bucket.redis_bucket.kind {
        Kind::Stream => redis::cmd("XLEN"),
        Kind::List => redis::cmd("LLEN"),
    };
    count.arg(bucket.redis_bucket.keys.jobs());
    count
}

/// Announces to all processes that serve these buckets that they have jobs. A message may be lost.
pub async fn announce_jobs(buckets: impl Iterator<Item = &Bucket>) {
    let buckets = buckets.map(|bucket| &*bucket.redis_bucket);
    futures::stream::iter(buckets).for_each_concurrent(CONCURRENT_MESSAGES, announce).await;
}
