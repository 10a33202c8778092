//! Lists outcomes of jobs in pages, and aggregates them in a report.

use std::time::Duration;

use dripfeed_job::{Ending, JobId};
use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::ended::ended_job::{EndedJob, parse};
use crate::error::BucketError;
use crate::inspect::job_filter::{JobFilter, TimeWindow};
use crate::inspect::pagination::{CALLS, Cursor, PAGE_BYTES, Page};
use crate::script::redis_bucket::WaitFor;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static OUTCOMES: Script = Script::new("outcomes", SHARED, include_str!("outcomes.lua"));
static REPORT: Script = Script::new("report", SHARED, include_str!("report.lua"));

const LIST: &str = "outcomes";

/// The jobs that ended within a window, and their latencies from acceptance to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub from_ms: u64,
    pub to_ms: u64,
    pub ended: Vec<(Ending, u64)>,
    /// All attempts of these jobs.
    pub attempts: u64,
    /// `None` if no job was delivered.
    pub latency: Option<Latency>,
}

/// Percentiles in ms of delivered jobs, from acceptance to the recorded end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

/// A position in the order in which jobs ended: ms since the epoch, and the job that ended then.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OutcomePosition(u64, String);

impl std::fmt::Display for OutcomePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.0, self.1)
    }
}

impl std::str::FromStr for OutcomePosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (ms, id) = text.split_once('_').ok_or(())?;
        Ok(Self(ms.parse().map_err(drop)?, id.parse::<JobId>().map_err(drop)?.to_string()))
    }
}

impl Bucket {
    /// Returns a page of outcomes in the order in which the jobs ended. It ends early when its records have as many
    /// bytes as one script may read.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn outcomes(
        &self,
        ended: TimeWindow,
        ending: Option<Ending>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<EndedJob>, BucketError> {
        self.ended_jobs(ended, ending, &JobFilter::default(), after, limit).await
    }

    /// Like [`Bucket::outcomes`], only for jobs with the filter's caller, age and time of admission.
    pub(crate) async fn ended_jobs(
        &self,
        ended: TimeWindow,
        ending: Option<Ending>,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<EndedJob>, BucketError> {
        let settings = self.redis_bucket.settings();
        let bucket = settings.name.as_str();
        let after = after.map(|cursor| cursor.position::<OutcomePosition>(LIST, bucket)).transpose()?;
        let mut from = after.unwrap_or(OutcomePosition(ended.since_ms.unwrap_or(0), String::new()));
        let (mut items, mut bytes) = (Vec::new(), 0);
        for _ in 0..CALLS {
            let mut call = OUTCOMES.on(&[self.redis_bucket.keys.outcomes(), self.redis_bucket.keys.ended()]);
            call.arg(from.0).arg(&from.1).arg(limit - items.len()).arg(ending.map_or("", Ending::as_str)).arg(bytes);
            call.arg(filter.age_arg()).arg(filter.accepted.since_arg()).arg(filter.accepted.until_arg());
            call.arg(ended.until_arg());
            let (read, mut reply) =
                self.redis_bucket.read("outcomes", &call.with_large_reply(), WaitFor::Reply).await?;
            bytes += read;
            let next = position(&mut reply)?;
            while !reply.is_empty() {
                let mut found = reply.array()?;
                let ended = parse(found.parse()?, &found.bytes()?);
                items.extend(ended.filter(|ended| filter.is_of(ended.outcome.caller.as_deref())));
            }
            match next {
                None => return Ok(Page { items, next: None }),
                Some(next) => from = next,
            }
            if items.len() >= limit || bytes >= PAGE_BYTES {
                break;
            }
        }
        Ok(Page { items, next: Some(Cursor::new(LIST, bucket, from)) })
    }

    /// Counts and latencies of the jobs that ended in the last `window`.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn report(&self, window: Duration) -> Result<Report, BucketError> {
        let window_ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
        let mut counts = Ending::ALL.map(|ending| (ending, 0));
        let (mut attempts, mut latencies) = (0, Vec::new());
        let mut to_ms = None;
        let mut from: Option<OutcomePosition> = None;
        loop {
            let mut call = REPORT.on(&[self.redis_bucket.keys.outcomes(), self.redis_bucket.keys.ended()]);
            match &from {
                None => call.arg(window_ms),
                Some(OutcomePosition(ms, id)) => call.arg("").arg(*ms).arg(id),
            };
            let (_, mut reply) = self.redis_bucket.read("report", &call, WaitFor::Reply).await?;
            let now_ms = reply.count()?;
            let to_ms = *to_ms.get_or_insert(now_ms);
            from = position(&mut reply)?;
            attempts += reply.count()?;
            let mut ended = reply.array()?;
            while !ended.is_empty() {
                let (result, count) = (ended.parse::<Ending>()?, ended.count()?);
                counts.iter_mut().filter(|(ending, _)| *ending == result).for_each(|(_, all)| *all += count);
            }
            let mut delivered = reply.array()?;
            while !delivered.is_empty() {
                latencies.push(delivered.count()?);
            }
            if from.is_none() {
                let from_ms = to_ms.saturating_sub(window_ms);
                return Ok(Report {
                    from_ms,
                    to_ms,
                    ended: counts.to_vec(),
                    attempts,
                    latency: percentiles(latencies),
                });
            }
        }
    }
}

/// Reads the position at which the next call continues, `None` at the end.
fn position(reply: &mut Reply) -> Result<Option<OutcomePosition>, BucketError> {
    let (ms, id) = (reply.text()?, reply.text()?);
    Ok(ms.parse().ok().map(|ms| OutcomePosition(ms, id)))
}

/// By nearest rank.
fn percentiles(mut ms: Vec<u64>) -> Option<Latency> {
    ms.sort_unstable();
    let max = *ms.last()?;
    let at = |percent: usize| ms.get((ms.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(max);
    Some(Latency { p50: at(50), p95: at(95), p99: at(99), max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        assert_eq!(percentiles(Vec::new()), None);
        assert_eq!(percentiles(vec![7]), Some(Latency { p50: 7, p95: 7, p99: 7, max: 7 }));
        assert_eq!(percentiles((1..=100).rev().collect()), Some(Latency { p50: 50, p95: 95, p99: 99, max: 100 }));
    }
}
