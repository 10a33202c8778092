//! A schedule as the API returns it.

use dripfeed_auth::Caller;
use dripfeed_bucket::{Bucket, KnownSchedule};
use dripfeed_job::{BucketName, JobId};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::definition::{Definition, Missed, Overlap};
use super::job_schema::ScheduleJob;
use crate::intake::Intake;
use crate::request::time;
use crate::request::visibility::Visibility;

#[derive(Serialize, ToSchema)]
pub(crate) struct Schedule {
    id: String,
    #[schema(value_type = String)]
    bucket: BucketName,
    /// The caller of its jobs: the key that defined it. Null: no keys were configured.
    #[schema(required)]
    caller: Option<String>,
    /// False: no key of that caller may submit to the bucket any longer, so ticks aren't submitted.
    caller_may_submit: bool,
    #[schema(required)]
    cron: Option<String>,
    #[schema(required)]
    zone: Option<String>,
    #[schema(required)]
    every: Option<String>,
    missed: Missed,
    #[schema(required)]
    grace: Option<String>,
    overlap: Overlap,
    paused: bool,
    /// The next tick. Null: the schedule is paused, or has no further ticks.
    #[schema(required)]
    next_at: Option<String>,
    /// The last tick that was submitted.
    #[schema(required)]
    last_at: Option<String>,
    /// The job of that tick.
    #[schema(required, value_type = Option<String>)]
    last_job: Option<JobId>,
    /// Ticks that were not submitted in time. Of a cron expression, not all are counted where more than 10,000 were
    /// missed at once.
    missed_ticks: u64,
    /// Ticks that were skipped because the job of an earlier one was in the bucket.
    overlapped_ticks: u64,
    /// Why the tick that is due isn't submitted yet, such as `bucket_full`. Null: no tick is refused.
    #[schema(required)]
    refused: Option<&'static str>,
    /// The job of each tick; null for a key without the scope `inspect`.
    #[schema(required, value_type = Option<ScheduleJob>)]
    job: Option<Box<RawValue>>,
}

impl Schedule {
    pub(super) fn of(
        intake: &Intake,
        bucket: &Bucket,
        caller: &Caller,
        known: KnownSchedule,
        definition: Definition,
    ) -> Self {
        let (written, state) = (definition.written, known.state);
        let owner = definition.caller;
        Self {
            id: known.id.to_string(),
            bucket: bucket.name().clone(),
            caller_may_submit: intake.keys().may_submit(owner.as_deref(), bucket.name().as_str()),
            caller: owner,
            cron: written.cron,
            zone: written.zone,
            every: written.every,
            missed: written.missed,
            grace: written.grace,
            overlap: written.overlap,
            paused: state.paused,
            next_at: known.next_ms.map(time::show),
            last_at: state.last.map(|(tick, _)| time::show(tick)),
            last_job: state.last.map(|(_, job)| job),
            missed_ticks: state.missed,
            overlapped_ticks: state.overlapped,
            refused: state.reason.map(dripfeed_bucket::RefusalReason::code),
            job: (Visibility::of(caller) == Visibility::Payloads).then_some(written.job),
        }
    }
}
