//! Recovery by observation: a replica whose heartbeat stood still for long enough, by the observer's own clock, is
//! dead, and its jobs are due again for all. No wall clock is asked, so no clock step steals live jobs or strands
//! dead ones.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::Value;

use crate::bucket::Bucket;
use crate::deliver::consumer::Consumer;
use crate::error::BucketError;
use crate::script::constants::{BATCH_JOBS, PARKED_OWNER};
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;

static BEAT: Scripts = Scripts::new("beat", include_str!("beat.lua"));
static RECOVER: Scripts = Scripts::new("recover", include_str!("recover.lua"));

/// Heartbeats within a lease. With silence for two thirds of it meaning death, a dead replica is found within the
/// lease, and a living one may miss three beats.
const BEATS: u32 = 6;

pub(crate) fn beat_interval(lease: Duration) -> Duration {
    lease / BEATS
}

/// What a heartbeat brought to light.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// This replica was itself declared dead.
    pub fenced: bool,
    /// Jobs of dead replicas that are due again for all.
    pub recovered: u64,
    /// Jobs that were handed out too often without an end.
    pub poisoned: u64,
}

/// What one replica has seen of the others.
pub(crate) struct HeartbeatWatch {
    lease: Duration,
    last_look: Option<Instant>,
    /// Consumer → its heartbeats (None: it is no member) and since when they stood so.
    seen: HashMap<String, (Option<u64>, Instant)>,
}

impl HeartbeatWatch {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { lease, last_look: None, seen: HashMap::new() }
    }

    /// Takes a look at `now`; shows which have stood still for long enough. After a gap in its own looks it has no
    /// ground to judge: that was Redis or this process standing still.
    pub(crate) fn look(&mut self, now: Instant, consumers: HashMap<String, Option<u64>>) -> Vec<(String, Option<u64>)> {
        let silence = self.lease * 2 / 3;
        let gap = self.last_look.replace(now).is_some_and(|last| now.duration_since(last) > silence * 3 / 4);
        if gap {
            self.seen.clear();
        }
        self.seen.retain(|consumer, _| consumers.contains_key(consumer));
        let mut still = Vec::new();
        for (consumer, beats) in consumers {
            let seen = self.seen.entry(consumer.clone()).or_insert((beats, now));
            if seen.0 != beats {
                *seen = (beats, now);
            }
            if now.duration_since(seen.1) >= silence {
                still.push((consumer, beats));
            }
        }
        still
    }
}

impl Bucket {
    /// For a caller that knows that a replica is gone: its jobs are due at once for the others, not only after the
    /// lease. None: its heart beat meanwhile, so it lives and keeps its jobs.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn declare_dead(&self, consumer: &Consumer) -> Result<Option<Recovery>, BucketError> {
        let consumer = consumer.as_str();
        // The owner of parked jobs is no replica: it never beats, and never dies.
        if consumer == PARKED_OWNER {
            return Ok(None);
        }
        let mut beats = redis::cmd("HGET");
        beats.arg(self.redis_bucket.keys.replicas()).arg(consumer);
        let seen: Option<String> = self.redis_bucket.store.command(&beats).await?;
        let taken_over = self.redis_bucket.take_over(consumer, seen.as_deref().unwrap_or_default()).await?;
        Ok(taken_over.map(|(recovered, poisoned)| Recovery { fenced: false, recovered, poisoned }))
    }
}

impl RedisBucket {
    /// Shows that `consumer` lives, looks at the others, and requeues the jobs of dead ones.
    pub(crate) async fn beat(&self, consumer: &str, watch: &mut HeartbeatWatch) -> Result<Recovery, BucketError> {
        let Some(others) = self.heartbeat(consumer).await? else {
            return Ok(Recovery { fenced: true, ..Recovery::default() });
        };
        let mut found = Recovery::default();
        for (dead, beats) in watch.look(Instant::now(), others) {
            let seen = beats.map(|beats| beats.to_string()).unwrap_or_default();
            let taken_over = self.take_over(&dead, &seen).await?;
            watch.seen.remove(&dead);
            if let Some((recovered, poisoned)) = taken_over {
                let bucket = &self.settings().name;
                tracing::warn!(
                    %bucket, replica = %dead, recovered, poisoned,
                    "A replica missed its heartbeats; its jobs were requeued"
                );
                found.recovered += recovered;
                found.poisoned += poisoned;
            }
        }
        Ok(found)
    }

    /// All others with their heartbeats; None when this consumer is a member no more.
    async fn heartbeat(&self, consumer: &str) -> Result<Option<HashMap<String, Option<u64>>>, BucketError> {
        let keys = self.keys.and_takers(vec![self.keys.jobs(), self.keys.replicas()]);
        let mut call = BEAT.of(self.kind).on(&keys);
        call.arg(consumer);
        let mut reply = Reply::new("beat", self.store.run::<Value>(&call).await?)?;
        if reply.text()? == "fenced" {
            return Ok(None);
        }
        let mut others = HashMap::new();
        let mut members = reply.array()?;
        while !members.is_empty() {
            others.insert(members.text()?, Some(members.count()?));
        }
        let mut names = reply.array()?;
        while !names.is_empty() {
            others.entry(names.text()?).or_insert(None);
        }
        others.remove(consumer);
        others.remove(PARKED_OWNER);
        Ok(Some(others))
    }

    /// Jobs recovered and poisoned; None when the replica has moved after all. `seen` as in recover.lua.
    pub(crate) async fn take_over(&self, consumer: &str, seen: &str) -> Result<Option<(u64, u64)>, BucketError> {
        let (mut recovered, mut poisoned) = (0, 0);
        let mut seen = seen;
        loop {
            let mut reply = Reply::new("recover", self.store.run::<Value>(&self.recover_call(consumer, seen)).await?)?;
            let word = reply.text()?;
            if word == "alive" {
                return Ok(None);
            }
            recovered += reply.count()?;
            poisoned += reply.count()?;
            if word == "gone" {
                return Ok(Some((recovered, poisoned)));
            }
            // Its membership ended with the first call; what is left belongs to no member.
            seen = if seen == "*" { "*" } else { "" };
        }
    }

    fn recover_call(&self, consumer: &str, seen: &str) -> dripfeed_store::Call<'static> {
        let settings = self.settings();
        let keys = &self.keys;
        let common = vec![
            keys.jobs(),
            keys.meter(),
            keys.tally(),
            keys.replicas(),
            keys.batches(),
            keys.outcomes(),
            keys.ended(),
            keys.dead(),
            keys.letters(),
            keys.takes(),
            keys.holders(),
            keys.keyed_jobs(),
            keys.key_ends(),
            keys.notices(),
        ];
        let mut call = RECOVER.of(self.kind).on(&keys.and_held(common, consumer));
        call.arg(consumer).arg(seen).arg(settings.deliveries).arg(settings.keep.packed()).arg(BATCH_JOBS);
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(6);

    fn others(beats: Option<u64>) -> HashMap<String, Option<u64>> {
        HashMap::from([("a".to_owned(), beats)])
    }

    #[test]
    fn who_stands_still_for_two_thirds_of_the_lease_is_dead() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        let mut look = |second, beats| watch.look(start + Duration::from_secs(second), others(beats));
        assert_eq!(look(0, Some(7)), []);
        assert_eq!(look(1, Some(8)), []);
        assert_eq!(look(3, Some(8)), []);
        assert_eq!(look(5, Some(8)), [("a".to_owned(), Some(8))]);
    }

    #[test]
    fn who_moves_or_left_is_not_dead() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        for second in 0..20 {
            assert_eq!(watch.look(start + Duration::from_secs(second), others(Some(second / 3))), []);
        }
        assert_eq!(watch.look(start + Duration::from_secs(20), HashMap::new()), []);
    }

    #[test]
    fn an_observer_that_stood_still_itself_begins_anew() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        assert_eq!(watch.look(start, others(Some(1))), []);
        assert_eq!(watch.look(start + Duration::from_mins(1), others(Some(1))), []);
        assert_eq!(watch.look(start + Duration::from_secs(62), others(Some(1))), []);
        assert_eq!(watch.look(start + Duration::from_secs(64), others(Some(1))).len(), 1);
    }

    #[test]
    fn a_consumer_without_membership_is_dead_after_the_same_time() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        assert_eq!(watch.look(start, others(None)), []);
        assert_eq!(watch.look(start + Duration::from_secs(2), others(None)), []);
        assert_eq!(watch.look(start + Duration::from_secs(4), others(None)), [("a".to_owned(), None)]);
    }
}
