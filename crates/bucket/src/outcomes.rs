//! How jobs ended: one by one, in pages, and summed up.

use std::time::Duration;

use dripfeed_job::{Ending, JobId, Outcome};

use crate::core::Core;
use crate::error::BucketError;
use crate::page::{Cursor, Page};

const LIST: &str = "outcomes";
/// Outcomes read in one call.
const CHUNK: usize = 500;

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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64, String);

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.0, self.1)
    }
}

impl std::str::FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (ms, id) = text.split_once('_').ok_or(())?;
        Ok(Self(ms.parse().map_err(drop)?, id.parse::<JobId>().map_err(drop)?.to_string()))
    }
}

impl Core {
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
        let records: Vec<Option<String>> = self.store.command(&get).await?;
        Ok(ids.iter().zip(records).map(|(id, record)| parse(*id, &record?)).collect())
    }

    pub(crate) async fn outcomes(
        &self,
        since_ms: Option<u64>,
        ending: Option<Ending>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<EndedJob>, BucketError> {
        let settings = self.settings();
        let bucket = settings.name.as_str();
        let after = after.map(|cursor| cursor.position::<Place>(LIST, bucket)).transpose()?;
        let mut from = after.unwrap_or(Place(since_ms.unwrap_or(0), String::new()));
        let mut items: Vec<EndedJob> = Vec::new();
        loop {
            let chunk = self.ended_after(&from).await?;
            let Some(last) = chunk.last().cloned() else { return Ok(Page { items, next: None }) };
            let ids: Vec<JobId> = chunk.iter().filter_map(|place| place.1.parse().ok()).collect();
            for ended in self.outcomes_of(&ids).await?.into_iter().flatten() {
                if ending.is_some_and(|ending| ending != ended.outcome.result) {
                    continue;
                }
                if items.len() == limit {
                    let shown = items.last().map(|shown| Place(shown.settled_ms, shown.id.to_string()));
                    return Ok(Page { items, next: shown.map(|place| Cursor::new(LIST, bucket, place)) });
                }
                items.push(ended);
            }
            from = last;
        }
    }

    /// The next places after `from`, in order.
    async fn ended_after(&self, from: &Place) -> Result<Vec<Place>, BucketError> {
        let mut offset = 0;
        loop {
            let mut range = redis::cmd("ZRANGE");
            range.arg(self.keys.ended()).arg(from.0).arg("+inf").arg("BYSCORE");
            range.arg("LIMIT").arg(offset).arg(CHUNK).arg("WITHSCORES");
            let found: Vec<(String, f64)> = self.store.command(&range).await?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole ms, far below 2^53")]
            let places = found.iter().map(|(id, ms)| Place(*ms as u64, id.clone()));
            let next: Vec<Place> = places.filter(|place| place > from).collect();
            // Many may have ended in one millisecond: all of them may lie before the place we look for.
            if !next.is_empty() || found.len() < CHUNK {
                return Ok(next);
            }
            offset += CHUNK;
        }
    }

    pub(crate) async fn report(&self, window: Duration) -> Result<Report, BucketError> {
        let (seconds, micros): (u64, u64) = self.store.command(&redis::cmd("TIME")).await?;
        let to_ms = seconds * 1000 + micros / 1000;
        let from_ms = to_ms.saturating_sub(u64::try_from(window.as_millis()).unwrap_or(u64::MAX));
        let mut from = Place(from_ms, String::new());
        let mut counts = Ending::ALL.map(|ending| (ending, 0));
        let (mut attempts, mut latencies) = (0, Vec::new());
        loop {
            let chunk = self.ended_after(&from).await?;
            let Some(last) = chunk.last().cloned() else { break };
            let ids: Vec<JobId> = chunk.iter().filter_map(|place| place.1.parse().ok()).collect();
            for ended in self.outcomes_of(&ids).await?.into_iter().flatten() {
                let result = ended.outcome.result;
                counts.iter_mut().filter(|(ending, _)| *ending == result).for_each(|(_, count)| *count += 1);
                attempts += u64::from(ended.outcome.attempts);
                if result == Ending::Delivered {
                    latencies.push(ended.settled_ms.saturating_sub(ended.id.accepted_ms()));
                }
            }
            from = last;
        }
        Ok(Report { from_ms, to_ms, ended: counts.to_vec(), attempts, latency: percentiles(latencies) })
    }
}

/// `ms record`, as record.lua writes it.
fn parse(id: JobId, text: &str) -> Option<EndedJob> {
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
