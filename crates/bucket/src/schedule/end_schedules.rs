//! Ends schedules. Jobs that they have submitted stay.

use dripfeed_job::schedule::ScheduleId;
use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("end_schedules", SHARED, include_str!("end_schedules.lua"));

impl Bucket {
    /// False: there was none of this name.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn end_schedule(&self, id: &ScheduleId) -> Result<bool, BucketError> {
        Ok(self.end(id.as_str()).await? > 0)
    }

    /// Ends all schedules of a bucket that isn't served any longer, and returns their number.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn end_all_schedules(&self) -> Result<u64, BucketError> {
        self.end("").await
    }

    async fn end(&self, id: &str) -> Result<u64, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.schedules(), keys.next_ticks(), keys.schedule_states(), keys.tally()]);
        call.arg(id);
        Ok(self.redis_bucket.store.run_durably(&call).await?)
    }
}
