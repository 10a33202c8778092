//! Submits the jobs of all schedules, in every intake; there is no leader.
//!
//! Once a second one query shows whether a schedule was changed. A bucket's schedules are read when one has changed,
//! when the next tick that was seen is due, and in any case some seconds after the last time. The local clock only
//! decides when to look, and no wall clock is used. Buckets whose schedules aren't known of are asked in turn, since
//! Redis may have lost that they have some.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::error::Error;
use std::ops::Bound;
use std::time::Duration;

use dripfeed_bucket::{Bucket, ScheduleChanges};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, sleep_until};

use super::round::{self, Looked};
use crate::intake::Intake;

const BETWEEN_QUESTIONS: Duration = Duration::from_secs(1);
/// After an error of Redis.
const AGAIN: Duration = Duration::from_secs(1);
/// Seconds in which each bucket that has no schedules, as far as is known, is asked for some.
const ROUND_S: usize = 300;
/// Buckets that are looked at beside each other.
const AT_ONCE: usize = 16;

/// Submits what is due, for as long as the intake runs.
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

/// What this process knows of the schedules of each bucket.
#[derive(Default)]
struct ScheduleWatch {
    changes: ScheduleChanges,
    looks: HashMap<String, NextLook>,
    /// Buckets that have, or had, schedules, and that this intake doesn't have.
    unknown: HashSet<String>,
    /// The last bucket that was asked whether it has schedules; '': begin with the first.
    asked: String,
}

struct NextLook {
    /// The number of the last change of its schedules before the look.
    seen: u64,
    at: Instant,
    /// As it was after the last look.
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
            // That Redis is away is reported by those who need it.
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

    /// Of the next few buckets. What is noted is known at the next question.
    async fn note_forgotten(&mut self, intake: &Intake) {
        let all = intake.buckets().all();
        let few = all.len().div_ceil(ROUND_S);
        let after = (Bound::Excluded(self.asked.as_str()), Bound::Unbounded);
        let next: Vec<&Bucket> = all.range::<str, _>(after).take(few).map(|(_, bucket)| bucket).collect();
        let last = next.last().filter(|_| next.len() == few);
        self.asked = last.map_or_else(String::new, |bucket| bucket.name().to_string());
        let forgotten = next.into_iter().filter(|bucket| !self.changes.of.contains_key(bucket.name().as_str()));
        let note = async |bucket: &Bucket| {
            if let Err(error) = bucket.note_schedules_if_any().await {
                let bucket = bucket.name();
                tracing::debug!(%bucket, error = &error as &dyn Error, "could not ask Redis for schedules");
            }
        };
        stream::iter(forgotten).for_each_concurrent(AT_ONCE, note).await;
    }

    async fn look(&mut self, intake: &Intake) {
        let now = Instant::now();
        let due = self.looks.iter().filter(|(_, look)| look.at <= now);
        let due: Vec<(Bucket, bool)> =
            due.filter_map(|(bucket, look)| Some((intake.buckets().get(bucket)?, look.is_first))).collect();
        let looks = due.into_iter().map(async |(bucket, is_first)| {
            let looked = round::look(intake, &bucket, is_first).await.unwrap_or_else(|error| {
                let bucket = bucket.name();
                tracing::debug!(%bucket, error = &error as &dyn Error, "could not read due schedules from Redis");
                Looked { again_in: AGAIN, is_first: false }
            });
            (bucket, looked)
        });
        let looked: Vec<(Bucket, Looked)> = stream::iter(looks).buffer_unordered(AT_ONCE).collect().await;
        for (bucket, looked) in looked {
            if let Some(look) = self.looks.get_mut(bucket.name().as_str()) {
                (look.at, look.is_first) = (Instant::now() + looked.again_in, looked.is_first);
            }
        }
    }
}
