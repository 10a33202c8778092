//! Ends schedules. Jobs that they have submitted stay.

use dripfeed_job::schedule::ScheduleId;
use dripfeed_store::Script;

use super::known_schedule::KnownSchedule;
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::constants::ANY_VERSION;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("end_schedules", SHARED, include_str!("end_schedules.lua"));

/// Whether a schedule was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndScheduleResult {
    Done,
    /// It doesn't exist.
    None,
    /// It was changed concurrently; read it again.
    Changed,
}

impl Bucket {
    /// Ends a schedule; with `known` only if it is still as the caller knows it.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn end_schedule(
        &self,
        id: &ScheduleId,
        known: Option<&KnownSchedule>,
    ) -> Result<EndScheduleResult, BucketError> {
        let version = known.map_or(ANY_VERSION, |known| known.state.version.as_str());
        Ok(match self.end(id.as_str(), version).await? {
            0 => EndScheduleResult::None,
            -1 => EndScheduleResult::Changed,
            _ => EndScheduleResult::Done,
        })
    }

    /// Ends all schedules of a bucket that isn't served any longer, and returns their number.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn end_all_schedules(&self) -> Result<u64, BucketError> {
        self.end("", ANY_VERSION).await.map(|count| u64::try_from(count).unwrap_or(0))
    }

    async fn end(&self, id: &str, version: &str) -> Result<i64, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.schedules(), keys.next_ticks(), keys.schedule_states(), keys.tally()]);
        call.arg(id).arg(version);
        Ok(self.redis_bucket.store.run_durably(&call).await?)
    }
}
