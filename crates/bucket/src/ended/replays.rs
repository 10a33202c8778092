//! Background replays of dead letters. The filter and the progress are stored in Redis, so that every intake shows
//! them, and another one continues if an intake dies.
//!
//! One script replays a letter and counts it (`replay.lua`): no letter is replayed or counted twice, even if two
//! processes run the replay for a moment. Jobs that are dead-lettered after the start aren't included, so that a replay
//! ends.

mod progress;
mod replay_run;
pub(crate) mod replay_task;

use std::collections::HashMap;
use std::sync::Arc;

use dripfeed_job::Rate;
use dripfeed_store::Script;

use self::progress::{Lease, Progress};
use self::replay_run::ReplayRun;
use self::replay_task::{ReplayId, ReplayState, ReplayTask, WantedReplay};
use crate::bucket::{Bucket, Buckets};
use crate::ended::dead_letters::DeadFilter;
use crate::error::BucketError;
use crate::inspect::count_each::count_each;
use crate::script::scripts::SHARED;

static START: Script = Script::new("start_replay", SHARED, include_str!("replays/start_replay.lua"));

/// Maximum background replays of a bucket: running ones, and the latest that have ended.
const MOST_REPLAYS: usize = 10;

/// The result of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReplayResult {
    Now,
    EndedBefore,
    Unknown,
}

/// Returns for each bucket whether Redis has background replays of it, running or ended. `false` if that can't be read.
///
/// # Errors
/// When Redis can't be reached, or doesn't answer in time.
pub async fn with_replays(buckets: &[Bucket]) -> Result<Vec<bool>, BucketError> {
    let exists = |bucket: &Bucket| {
        let mut exists = redis::cmd("EXISTS");
        exists.arg(bucket.redis_bucket.keys.replays());
        exists
    };
    Ok(count_each(buckets, exists).await?.into_iter().map(|there| there > 0).collect())
}

impl Bucket {
    /// Starts a background replay of the letters that match now, oldest first, at `rate` and as the bucket has room.
    /// `key`: the id of the caller's API key. Returns `None` if too many replays are running.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; when the bucket was deleted or created again
    /// over the API.
    pub async fn start_replay(
        &self,
        filter: DeadFilter,
        rate: Option<Rate>,
        key: Option<&str>,
    ) -> Result<Option<ReplayId>, BucketError> {
        let newest = self.redis_bucket.newest_letter().await?;
        let total = self.redis_bucket.dead_ids(&filter, &filter.ending_with(newest)).await?.len();
        let wanted = WantedReplay { filter, rate, key: key.map(str::to_owned) };
        let wanted = serde_json::to_string(&wanted).unwrap_or_default();
        let id = ReplayId::random();
        let mut call = START.on(&[self.redis_bucket.keys.replays(), self.redis_bucket.keys.control()]);
        call.arg(id.to_string()).arg(wanted).arg(total).arg(MOST_REPLAYS).arg(newest.to_string());
        call.arg(self.redis_bucket.incarnation_word());
        match self.redis_bucket.store.run_durably::<i64>(&call).await? {
            -1 => Err(BucketError::Gone),
            started => Ok((started == 1).then_some(id)),
        }
    }

    /// Returns the background replays, latest first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn replays(&self) -> Result<Vec<ReplayTask>, BucketError> {
        let mut all = redis::cmd("HGETALL");
        all.arg(self.redis_bucket.keys.replays());
        let fields: HashMap<String, String> = self.redis_bucket.store.command(&all).await?;
        Ok(ReplayTask::read_all(&fields))
    }

    /// Cancels a replay, so that no further letters are replayed. A replay that has ended doesn't change.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn cancel_replay(&self, id: ReplayId) -> Result<CancelReplayResult, BucketError> {
        let ending = Progress { ending: Some(ReplayState::Cancelled), ..Progress::default() };
        Ok(match self.redis_bucket.advance_replay(id, None, &ending).await? {
            // A cancellation needs no lease.
            Lease::Kept | Lease::Taken => CancelReplayResult::Now,
            Lease::Ended => CancelReplayResult::EndedBefore,
            Lease::Absent => CancelReplayResult::Unknown,
        })
    }

    /// Runs the replays whose lease no process has, while the bucket is one of `served`: a bucket that was removed gets
    /// no more jobs. To be called at the start and periodically. `replayed` is called for each job that this process
    /// submits for them.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn resume_replays(
        &self,
        served: &Arc<Buckets>,
        replayed: impl Fn() + Clone + Send + 'static,
    ) -> Result<(), BucketError> {
        for task in self.replays().await?.into_iter().filter(|task| task.state == ReplayState::Running) {
            if let Some(run) = ReplayRun::claim(self.clone(), task, replayed.clone()).await? {
                let (bucket, served) = (self.clone(), Arc::clone(served));
                tokio::spawn(async move {
                    tokio::select! {
                        () = run.carry_out() => {}
                        () = served.removed(&bucket) => {}
                    }
                });
            }
        }
        Ok(())
    }
}
