//! The definition of a schedule: its ticks, which of them are submitted, and the job.

use std::borrow::Cow;

use bytes::Bytes;
use dripfeed_bucket::{BucketError, KnownSchedule};
use dripfeed_job::schedule::{self, Policy, Step, Timetable};
use dripfeed_job::{StartTime, Submission, duration};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::job_schema::ScheduleJob;
use crate::openapi::formats;
use crate::problem::{Code, Problem};
use crate::request::json;
use crate::submit::batch::item;

const UTC: &str = "UTC";
/// Ticks missed for up to an hour, at most sixty, are counted in less than a millisecond, so on the same thread.
const FEW_MISSED_MS: u64 = 3_600_000;

/// The job of a schedule, and when it is submitted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleDefinition {
    /// Five fields: minute, hour, day of the month, month, day of the week. Either this or `every`.
    #[schema(max_length = 256, example = "30 2 * * MON-FRI")]
    pub(super) cron: Option<String>,
    /// The time zone of `cron`, an IANA name such as `Europe/Berlin`; by default `UTC`.
    pub(super) zone: Option<String>,
    /// A period of a second to 366 days, aligned to the Unix epoch: `15m` is at :00, :15, :30 and :45.
    #[schema(value_type = Option<formats::Duration>, inline)]
    pub(super) every: Option<String>,
    #[serde(default)]
    #[schema(required = false)]
    pub(super) missed: Missed,
    /// How late a tick may be submitted, at least a second; by default unlimited, and with `missed: skip` a minute.
    #[schema(value_type = Option<formats::Duration>, inline)]
    pub(super) grace: Option<String>,
    #[serde(default)]
    #[schema(required = false)]
    pub(super) overlap: Overlap,
    /// By default a new schedule isn't paused, and an existing one is unchanged.
    pub(super) paused: Option<bool>,
    #[schema(value_type = ScheduleJob)]
    pub(super) job: Box<RawValue>,
}

/// Which missed ticks are submitted later: `latest`: only the latest one; `all`: all of them, at most the latest
/// hundred; `skip`: none later than `grace`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Missed {
    #[default]
    Latest,
    All,
    Skip,
}

/// Whether a tick is submitted while the job of an earlier tick is in the bucket: `allow` or `skip`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Overlap {
    #[default]
    Allow,
    Skip,
}

/// The definition as stored in Redis, where other versions of the program may read it.
#[derive(Serialize, Deserialize)]
struct Stored<'a, S> {
    /// The id of the key that defined the schedule.
    #[serde(borrow)]
    caller: Option<Cow<'a, str>>,
    schedule: S,
}

/// A validated definition.
pub(super) struct Definition {
    /// The caller of the schedule's jobs.
    pub(super) caller: Option<String>,
    pub(super) written: ScheduleDefinition,
    pub(super) timetable: Timetable,
    pub(super) policy: Policy,
    pub(super) job: Submission,
}

impl Definition {
    pub(super) fn of_request(body: &Bytes, caller: Option<&str>) -> Result<Self, Problem> {
        Self::new(json::read_with_payload(body)?, caller)
    }

    fn new(written: ScheduleDefinition, caller: Option<&str>) -> Result<Self, Problem> {
        let (timetable, policy, job) = (timetable(&written)?, policy(&written)?, job(&written.job, caller)?);
        Ok(Self { caller: caller.map(str::to_owned), written, timetable, policy, job })
    }

    /// Validates the body of a request, and returns the text to store.
    pub(super) fn to_store(body: &Bytes, caller: Option<&str>) -> Result<String, Problem> {
        let schedule: &RawValue = serde_json::from_slice(body).map_err(unreadable)?;
        serde_json::to_string(&Stored { caller: caller.map(Cow::Borrowed), schedule }).map_err(unreadable)
    }

    /// Returns the definition of each schedule, or `None` for one that can't be parsed; a newer version may have
    /// written it.
    pub(super) async fn of_known(known: Vec<KnownSchedule>) -> Result<Vec<(KnownSchedule, Option<Self>)>, BucketError> {
        let bytes = known.iter().map(|known| known.definition.len()).sum();
        let read = |known: KnownSchedule| (Self::stored(&known.definition), known);
        let read_all = move || known.into_iter().map(read).map(|(definition, known)| (known, definition)).collect();
        dripfeed_bucket::parse(bytes, read_all).await
    }

    fn stored(text: &str) -> Option<Self> {
        let Stored { caller, schedule } = serde_json::from_str(text).ok()?;
        Self::new(schedule, caller.as_deref()).ok()
    }

    /// Whether both have the same ticks.
    pub(super) fn has_ticks_of(&self, other: &Self) -> bool {
        let ticks = |of: &Self| (of.written.cron.clone(), of.written.zone.clone(), of.written.every.clone());
        ticks(self) == ticks(other)
    }

    /// Returns the steps that are due at `now`, in ms; `from` is the next tick. There may be thousands
    /// of missed ticks; many are counted on another thread.
    pub(super) async fn steps(&self, from: u64, now: u64) -> Result<Vec<Step>, BucketError> {
        let (policy, timetable) = (self.policy, self.timetable.clone());
        let steps = move || policy.steps(&timetable, from, now);
        if now.saturating_sub(from) <= FEW_MISSED_MS {
            return Ok(steps());
        }
        // `usize::MAX` stands for a large text, which is parsed on another thread.
        dripfeed_bucket::parse(usize::MAX, steps).await
    }

    /// The job of a tick, which is in ms.
    pub(super) fn job_for(&self, tick: u64) -> Submission {
        let mut job = self.job.clone();
        // A job that already has the maximum number of headers is submitted without this one.
        let _ = job.headers.push_scheduled_for(&crate::request::time::show(tick));
        job
    }
}

fn timetable(written: &ScheduleDefinition) -> Result<Timetable, Problem> {
    let unusable = |error: schedule::BadTimetable| bad(error.member, error.reason);
    match (&written.cron, &written.every, &written.zone) {
        (Some(cron), None, zone) => Timetable::cron(cron, zone.as_deref().unwrap_or(UTC)).map_err(unusable),
        (None, Some(every), None) => Timetable::every(period("every", every)?).map_err(unusable),
        (None, Some(_), Some(_)) => Err(bad("zone", "is for cron only; omit it")),
        (Some(_), Some(_), _) => Err(bad("every", "give either cron or every")),
        (None, None, _) => Err(bad("cron", "missing; give cron or every")),
    }
}

fn policy(written: &ScheduleDefinition) -> Result<Policy, Problem> {
    Ok(Policy {
        missed: match written.missed {
            Missed::Latest => schedule::Missed::Latest,
            Missed::All => schedule::Missed::All,
            Missed::Skip => schedule::Missed::Skip,
        },
        grace: written.grace.as_ref().map(|grace| period("grace", grace)).transpose()?,
        overlap: match written.overlap {
            Overlap::Allow => schedule::Overlap::Allow,
            Overlap::Skip => schedule::Overlap::Skip,
        },
    })
}

fn period(member: &str, text: &str) -> Result<std::time::Duration, Problem> {
    duration::parse(text).map_err(|error| bad(member, error))
}

fn job(written: &RawValue, caller: Option<&str>) -> Result<Submission, Problem> {
    // The job's body is a slice of these bytes.
    let bytes = Bytes::copy_from_slice(written.get().as_bytes());
    let text = str::from_utf8(&bytes).map_err(unreadable)?;
    let mut job = item::read(&bytes, text, 0, Timestamp::now()).map_err(|problem| problem.in_member("job"))?;
    if job.idempotency_key.is_some() {
        return Err(bad("job.options.idempotency_key", "set by each tick; omit it"));
    }
    if job.start != StartTime::AtOnce {
        return Err(bad("job.options", "the schedule sets the time; omit delay and not_before"));
    }
    job.caller = caller.map(str::to_owned);
    Ok(job)
}

fn unreadable<E>(_: E) -> Problem {
    Problem::new(Code::BadJson, "the body can't be read")
}

/// The text repeats the member, because a terminal shows only the text.
fn bad(member: &str, reason: impl std::fmt::Display) -> Problem {
    Problem::bad_member(member, &format!("{member}: {reason}"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use futures::FutureExt as _;

    use super::*;

    const YEAR_MS: u64 = 365 * 24 * FEW_MISSED_MS;

    #[tokio::test]
    async fn ticks_missed_for_a_year_are_counted_beside_the_requests() {
        let body = Bytes::from_static(br#"{"cron": "* * * * *", "job": {"body": 1}}"#);
        let definition = Definition::of_request(&body, None).unwrap();
        let shortly = definition.steps(0, FEW_MISSED_MS).now_or_never().unwrap().unwrap();
        assert_eq!(shortly[0].missed, 60);
        assert!(definition.steps(0, YEAR_MS).now_or_never().is_none(), "nobody else is answered meanwhile");
        let steps = definition.steps(0, YEAR_MS).await.unwrap();
        assert_eq!((steps[0].tick, steps[0].next), (Some(YEAR_MS), Some(YEAR_MS + 60_000)));
    }
}
