//! How jobs ended: one by one, in pages, and summed up.

use std::time::Duration;

use dripfeed_job::{Ending, JobId, Outcome};
use dripfeed_store::Script;

use crate::error::BucketError;
use crate::inspect::pagination::{CALLS, Cursor, PAGE_BYTES, Page};
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static OUTCOMES: Script = Script::new("outcomes", SHARED, include_str!("outcomes.lua"));
static REPORT: Script = Script::new("report", SHARED, include_str!("report.lua"));

const LIST: &str = "outcomes";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedJob {
    pub id: JobId,
    pub outcome: Outcome,
    /// Ms since the epoch.
    pub settled_ms: u64,
}

/// The jobs that ended within a window, and how long they took from admission to their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub from_ms: u64,
    pub to_ms: u64,
    pub ended: Vec<(Ending, u64)>,
    /// Attempts that the ended jobs took, in all.
    pub attempts: u64,
    /// None: nothing was delivered.
    pub latency: Option<Latency>,
}

/// Percentiles in ms, from admission to the recorded end, over the delivered jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

/// A place in the order of ends: ms, then id as text, as the zset sorts.
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

impl RedisBucket {
    pub(crate) async fn outcome(&self, id: JobId) -> Result<Option<EndedJob>, BucketError> {
        Ok(self.outcomes_of(&[id]).await?.pop().flatten())
    }

    /// In the order of `ids`; None for one that hasn't ended or is forgotten.
    pub(crate) async fn outcomes_of(&self, ids: &[JobId]) -> Result<Vec<Option<EndedJob>>, BucketError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("HMGET");
        get.arg(self.keys.outcomes());
        for id in ids {
            get.arg(id.to_string());
        }
        let records: Vec<Option<Vec<u8>>> = self.store.command(&get).await?;
        Ok(ids.iter().zip(records).map(|(id, record)| parse(*id, &record?)).collect())
    }

    /// A page ends early when the records in it have as many bytes as one script may read.
    pub(crate) async fn outcomes(
        &self,
        since_ms: Option<u64>,
        ending: Option<Ending>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<EndedJob>, BucketError> {
        let settings = self.settings();
        let bucket = settings.name.as_str();
        let after = after.map(|cursor| cursor.position::<OutcomePosition>(LIST, bucket)).transpose()?;
        let mut from = after.unwrap_or(OutcomePosition(since_ms.unwrap_or(0), String::new()));
        let (mut items, mut bytes) = (Vec::new(), 0);
        for _ in 0..CALLS {
            let mut call = OUTCOMES.on(&[self.keys.outcomes(), self.keys.ended()]);
            call.arg(from.0).arg(&from.1).arg(limit - items.len()).arg(ending.map_or("", Ending::as_str)).arg(bytes);
            let mut reply = Reply::new("outcomes", self.store.run(&call).await?)?;
            let next = position(&mut reply)?;
            bytes = reply.count()?;
            while !reply.is_empty() {
                let mut found = reply.array()?;
                items.extend(parse(found.parse()?, &found.bytes()?));
            }
            match next {
                None => return Ok(Page { items, next: None }),
                Some(next) => from = next,
            }
            if items.len() >= limit || bytes >= PAGE_BYTES as u64 {
                break;
            }
        }
        Ok(Page { items, next: Some(Cursor::new(LIST, bucket, from)) })
    }

    pub(crate) async fn report(&self, window: Duration) -> Result<Report, BucketError> {
        let window_ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
        let mut counts = Ending::ALL.map(|ending| (ending, 0));
        let (mut attempts, mut latencies) = (0, Vec::new());
        let mut to_ms = None;
        let mut from: Option<OutcomePosition> = None;
        loop {
            let mut call = REPORT.on(&[self.keys.outcomes(), self.keys.ended()]);
            match &from {
                None => call.arg(window_ms),
                Some(OutcomePosition(ms, id)) => call.arg("").arg(*ms).arg(id),
            };
            let mut reply = Reply::new("report", self.store.run(&call).await?)?;
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

/// Where to go on; None at the end.
fn position(reply: &mut Reply) -> Result<Option<OutcomePosition>, BucketError> {
    let (ms, id) = (reply.text()?, reply.text()?);
    Ok(ms.parse().ok().map(|ms| OutcomePosition(ms, id)))
}

/// `ms record`, as record.lua writes it. In what somebody else had written, what is no UTF-8 is replaced.
pub(crate) fn parse(id: JobId, text: &[u8]) -> Option<EndedJob> {
    let text = String::from_utf8_lossy(text);
    let (ms, record) = text.split_once(' ')?;
    Some(EndedJob { id, outcome: serde_json::from_str(record).ok()?, settled_ms: ms.parse().ok()? })
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
