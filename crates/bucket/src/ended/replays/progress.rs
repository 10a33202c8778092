//! The progress of a background replay, and the lease of the process that runs it.

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_store::Script;

use super::replay_task::{ReplayId, ReplayState};
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::SHARED;

static ADVANCE: Script = Script::new("advance_replay", SHARED, include_str!("advance_replay.lua"));

/// A process that hasn't renewed its lease for this time counts as dead, and another one may continue its replay.
const LEASE: Duration = Duration::from_secs(10);

/// New progress of a replay. `None`: unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) ending: Option<ReplayState>,
    /// The last letter that was handled, and how many letters up to it were not replayed.
    pub(super) position: Option<(String, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lease {
    Kept,
    /// The replay has ended.
    Ended,
    /// Another process runs it.
    Taken,
    /// Unknown replay.
    Absent,
}

impl RedisBucket {
    /// Stores the progress and renews the lease of `owner`. A cancellation has no `owner`, and ignores the lease.
    pub(super) async fn advance_replay(
        &self,
        id: ReplayId,
        owner: Option<&str>,
        progress: &Progress,
    ) -> Result<Lease, BucketError> {
        let (position, left) = progress.position.clone().unwrap_or_default();
        let mut call = ADVANCE.on(&[self.keys.replays()]);
        call.arg(id.to_string()).arg(owner.unwrap_or_default()).arg(ms_up(LEASE));
        call.arg(progress.ending.map_or("", ReplayState::as_str)).arg(position).arg(left);
        let answer: String = self.store.run_durably(&call).await?;
        match answer.as_str() {
            "kept" => Ok(Lease::Kept),
            "ended" => Ok(Lease::Ended),
            "taken" => Ok(Lease::Taken),
            "absent" => Ok(Lease::Absent),
            word => Err(BucketError::Reply { script: "advance_replay", what: format!("unexpected reply `{word}`") }),
        }
    }
}
