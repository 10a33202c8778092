//! Bulk cancel: cancels all matching jobs that aren't in flight.

use dripfeed_job::JobState;
use dripfeed_store::Call;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::inspect::job_filter::JobFilter;
use crate::kind::list::ListScan;
use crate::script::constants::BATCH_JOBS;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::Kind;
use crate::settings::on_outcome::OnOutcome;

static SCRIPTS: Scripts = Scripts::of_kinds(
    "cancel_many",
    include_str!("../kind/stream/remove/cancel_many.lua"),
    include_str!("../kind/list/remove/cancel_many.lua"),
);

impl Bucket {
    /// Cancels the matching jobs that wait or are parked, except those added after it began. Returns their number. An
    /// element that was added to a list by hand stays: it has neither an id nor an age until a replica takes it.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; what was cancelled until then stays cancelled.
    pub async fn cancel_many(&self, filter: &JobFilter) -> Result<u64, BucketError> {
        self.redis_bucket.in_own_kind(|| self.redis_bucket.cancel_in_kind(filter)).await
    }
}

impl RedisBucket {
    async fn cancel_in_kind(&self, filter: &JobFilter) -> Result<u64, BucketError> {
        let mut cancelled = 0;
        let done = match self.kind {
            Kind::Stream => self.cancel_in_stream(filter, &mut cancelled).await,
            Kind::List if filter.allows(JobState::Waiting) => self.cancel_in_list(filter, &mut cancelled).await,
            Kind::List => Ok(()),
        };
        done.map_err(|error| error.after(cancelled))?;
        Ok(cancelled)
    }

    async fn cancel_in_stream(&self, filter: &JobFilter, cancelled: &mut u64) -> Result<(), BucketError> {
        let mut last = String::new();
        // Waiting jobs may be parked meanwhile, so they come first. Parked jobs stay pending when they wait again.
        for state in [JobState::Waiting, JobState::Parked].into_iter().filter(|state| filter.allows(*state)) {
            let mut after = filter.after_arg();
            loop {
                let mut call = self.cancel_call(filter, &last);
                call.arg(if filter.state.is_none() && state == JobState::Parked { "either" } else { state.as_str() });
                call.arg(&after).arg(BATCH_JOBS);
                let mut reply = Reply::new("cancel_many", self.store.run_durably(&call).await?)?;
                *cancelled += reply.count()?;
                last = reply.text()?;
                let at_end = reply.count()? == 1;
                after = reply.text()?;
                if at_end {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn cancel_in_list(&self, filter: &JobFilter, cancelled: &mut u64) -> Result<(), BucketError> {
        let mut last = String::new();
        let mut scan = ListScan::of_jobs(&self.keys);
        while let Some(at) = scan.at() {
            let mut call = self.cancel_call(filter, &last);
            call.arg(at).arg(*cancelled).arg(BATCH_JOBS).arg(filter.after_arg());
            let mut reply = Reply::new("cancel_many", self.store.run_durably(&call).await?)?;
            *cancelled += reply.count()?;
            last = reply.text()?;
            scan.advance(&mut reply)?;
        }
        Ok(())
    }

    /// A call with the arguments that both kinds have in common.
    fn cancel_call(&self, filter: &JobFilter, last: &str) -> Call<'static> {
        let mut call = SCRIPTS.of(self.kind).on(&self.keys.to_cancel(&OnOutcome::default()));
        call.arg(self.settings().keep.packed()).arg(filter.caller_arg());
        call.arg(filter.age_arg()).arg(filter.accepted.until_arg()).arg(last);
        call
    }
}
