//! Submits the jobs of all schedules, in every intake; there is no leader.
//!
//! Once a second, one query shows which schedules were changed. A bucket's schedules are read when one has changed,
//! when the next known tick is due, and at the latest some seconds after the last read. The local monotonic clock only
//! decides when to read. Buckets that aren't known to have schedules are asked in turn, because Redis may have lost the
//! entry that says so.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::error::Error;
use std::ops::Bound;
use std::time::Duration;

use dripfeed_bucket::{Bucket, ScheduleChanges};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, sleep_until};

use super::round::{self, RoundResult};
use crate::intake::Intake;

const BETWEEN_QUESTIONS: Duration = Duration::from_secs(1);
/// Pause after an error of Redis.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Seconds in which every bucket without known schedules is asked once whether it has some.
const SCAN_SECONDS: usize = 300;
/// How many buckets are read concurrently.
const CONCURRENT_LOOKS: usize = 16;

/// Submits the jobs of due ticks, as long as the intake runs.
pub async fn submit_scheduled(intake: &Intake) -> Infallible {
    let mut watch = ScheduleWatch::default();
    loop {
        let next_question = Instant::now() + BETWEEN_QUESTIONS;
        watch.ask(intake).await;
        while Instant::now() < next_question {
            watch.look(intake).await;
            let next_look = watch.looks.values().map(|look| look.at).min();
            sleep_until(next_look.map_or(next_question, |at| at.min(next_question))).await;
        }
    }
}

/// What this process knows about the schedules of each bucket.
#[derive(Default)]
struct ScheduleWatch {
    changes: ScheduleChanges,
    looks: HashMap<String, NextLook>,
    /// Buckets with schedules that aren't in the configuration of this intake.
    unknown: HashSet<String>,
    /// The bucket that was last asked whether it has schedules; empty to start with the first one.
    last_asked: String,
}

struct NextLook {
    /// The number of the last change of the bucket's schedules before the read.
    seen: u64,
    at: Instant,
    /// `RoundResult::is_first` of the last read.
    is_first: bool,
}

impl ScheduleWatch {
    async fn ask(&mut self, intake: &Intake) {
        match self.changes.newer(intake.redis().store()).await {
            Ok(changes) => {
                if let Some(changes) = changes {
                    self.changes = changes;
                }
                self.note_forgotten(intake).await;
            }
            // An outage of Redis is reported elsewhere.
            Err(error) => tracing::debug!(error = &error as &dyn Error, "could not read schedules from Redis"),
        }
        let now = Instant::now();
        self.looks.retain(|bucket, _| self.changes.of.contains_key(bucket) && intake.buckets().get(bucket).is_some());
        self.unknown.retain(|bucket| self.changes.of.contains_key(bucket));
        for (bucket, number) in &self.changes.of {
            if intake.buckets().get(bucket).is_none() {
                if self.unknown.insert(bucket.clone()) {
                    let message = "the bucket isn't in the configuration of this intake; its schedules submit nothing \
                        here";
                    tracing::warn!(%bucket, "{message}");
                }
                continue;
            }
            self.unknown.remove(bucket);
            let look = self.looks.entry(bucket.clone()).or_insert(NextLook { seen: *number, at: now, is_first: false });
            if look.seen != *number {
                (look.seen, look.at) = (*number, now);
            }
        }
    }

    /// Asks the next few buckets for schedules. Those found become known with the next query.
    async fn note_forgotten(&mut self, intake: &Intake) {
        let all = intake.buckets().all();
        let few = all.len().div_ceil(SCAN_SECONDS);
        let after = (Bound::Excluded(self.last_asked.as_str()), Bound::Unbounded);
        let next: Vec<&Bucket> = all.range::<str, _>(after).take(few).map(|(_, bucket)| bucket).collect();
        let last = next.last().filter(|_| next.len() == few);
        self.last_asked = last.map_or_else(String::new, |bucket| bucket.name().to_string());
        let forgotten = next.into_iter().filter(|bucket| !self.changes.of.contains_key(bucket.name().as_str()));
        let note = async |bucket: &Bucket| {
            if let Err(error) = bucket.note_schedules_if_any().await {
                let bucket = bucket.name();
                tracing::debug!(%bucket, error = &error as &dyn Error, "could not ask Redis for schedules");
            }
        };
        stream::iter(forgotten).for_each_concurrent(CONCURRENT_LOOKS, note).await;
    }

    async fn look(&mut self, intake: &Intake) {
        let now = Instant::now();
        let due = self.looks.iter().filter(|(_, look)| look.at <= now);
        let due: Vec<(Bucket, bool)> =
            due.filter_map(|(bucket, look)| Some((intake.buckets().get(bucket)?, look.is_first))).collect();
        let looks = due.into_iter().map(async |(bucket, is_first)| {
            let looked = round::submit_due_jobs(intake, &bucket, is_first).await.unwrap_or_else(|error| {
                let bucket = bucket.name();
                tracing::debug!(%bucket, error = &error as &dyn Error, "could not read due schedules from Redis");
                RoundResult { again_in: RETRY_INTERVAL, is_first: false }
            });
            (bucket, looked)
        });
        let looked: Vec<(Bucket, RoundResult)> = stream::iter(looks).buffer_unordered(CONCURRENT_LOOKS).collect().await;
        for (bucket, looked) in looked {
            if let Some(look) = self.looks.get_mut(bucket.name().as_str()) {
                (look.at, look.is_first) = (Instant::now() + looked.again_in, looked.is_first);
            }
        }
    }
}
