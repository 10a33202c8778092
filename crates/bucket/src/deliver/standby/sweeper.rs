//! Sweeps find jobs that nobody announced: what others add with a plain `XADD`, and those whose message was lost. Of
//! all processes that serve the same buckets, one sweeps often and announces what it finds.

use std::time::Duration;

use dripfeed_store::{InstallationKeys, Script};
use futures::StreamExt;

use crate::bucket::Bucket;
use crate::deliver::replica::{Consumer, announce};
use crate::error::BucketError;
use crate::inspect::count_each::count_each;
use crate::settings::Kind;

static SCRIPT: Script = Script::new("sweeper", &[], include_str!("sweeper.lua"));

/// What nobody announced is found within this time.
pub const BETWEEN_SWEEPS: Duration = Duration::from_millis(900);
/// A sweeper that didn't sweep for so long is replaced: three sweeps.
const TURN: Duration = Duration::from_millis(2700);
/// In how many sweeps the others sweep once: should a message of the sweeper be lost.
const SWEEPS_OF_OTHERS: u32 = 20;

/// Messages on their way at once.
const MESSAGES_AT_ONCE: usize = 50;

/// Whose turn it is to sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// This process sweeps, and announces what it finds.
    ForAll,
    /// Another process does. This one sweeps, too, for itself.
    ForItself,
    /// Another process does.
    Skipped,
}

/// A process that sweeps the buckets which it serves, with those that serve the same.
#[derive(Debug)]
pub struct Sweeper {
    process: Consumer,
    sweeps: u32,
}

impl Sweeper {
    /// `process`: a name that no other has.
    #[must_use]
    pub const fn new(process: Consumer) -> Self {
        Self { process, sweeps: 0 }
    }

    /// What this process does now, where `served` are all of its buckets. Where Redis doesn't say, as when it is full,
    /// each process sweeps.
    pub async fn next_sweep(&mut self, served: &[Bucket]) -> Sweep {
        let Some(first) = served.first() else { return Sweep::Skipped };
        self.sweeps = self.sweeps.wrapping_add(1);
        let store = &first.redis_bucket.store;
        let set = served.iter().map(|bucket| &bucket.redis_bucket.keys);
        let mut call = SCRIPT.on(&[InstallationKeys::new(store.prefix()).sweeper(set)]);
        call.arg(self.process.as_str()).arg(TURN.as_millis());
        match store.run::<u8>(&call).await {
            Ok(0) if !self.sweeps.is_multiple_of(SWEEPS_OF_OTHERS) => Sweep::Skipped,
            Ok(0) | Err(_) => Sweep::ForItself,
            Ok(_) => Sweep::ForAll,
        }
    }
}

/// Which of the buckets have jobs. Buckets that can't be read are omitted.
///
/// # Errors
/// When Redis can't be reached, or doesn't answer in time.
pub async fn with_jobs(buckets: &[Bucket]) -> Result<Vec<bool>, BucketError> {
    Ok(count_each(buckets, count_of).await?.into_iter().map(|jobs| jobs > 0).collect())
}

/// What is claimed from a list isn't counted: who claimed it is a member.
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
    let announced = buckets.map(|bucket| &*bucket.redis_bucket);
    futures::stream::iter(announced).for_each_concurrent(MESSAGES_AT_ONCE, announce).await;
}
