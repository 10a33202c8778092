//! Recovery: heartbeats, and requeuing the jobs of dead replicas.

use std::collections::HashMap;
use std::mem;
use std::time::{Duration, Instant};

use redis::Value;

use crate::deliver::heartbeat_watch::HeartbeatWatch;
use crate::error::BucketError;
use crate::script::constants::{BATCH_JOBS, PARKED_OWNER};
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;

pub(crate) static BEAT: Scripts = Scripts::new("beat", include_str!("beat.lua"));
pub(crate) static RECOVER: Scripts = Scripts::new("recover", include_str!("recover.lua"));

/// The result of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// This replica was declared dead.
    pub fenced: bool,
    /// Requeued jobs of dead replicas.
    pub recovered: u64,
    /// Jobs dead-lettered after too many deliveries.
    pub poisoned: u64,
}

impl Recovery {
    fn add(&mut self, more: &Self) {
        self.recovered += more.recovered;
        self.poisoned += more.poisoned;
    }
}

/// A replica's knowledge of the other replicas.
pub(crate) struct Others {
    pub(crate) watch: HeartbeatWatch,
    /// Jobs that were recovered before an error, for the result of the next heartbeat.
    unreported: Recovery,
}

impl Others {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { watch: HeartbeatWatch::new(lease), unreported: Recovery::default() }
    }
}

impl RedisBucket {
    /// Sends a heartbeat of `consumer`, checks those of the others, and requeues the jobs of dead ones.
    pub(crate) async fn beat(&self, consumer: &str, others: &mut Others) -> Result<Recovery, BucketError> {
        let heartbeats = self.heartbeat(consumer).await?;
        let fenced = heartbeats.is_none();
        let dead = heartbeats.map_or_else(Vec::new, |heartbeats| others.watch.observe(Instant::now(), heartbeats));
        for (dead, beats) in dead {
            let beats = beats.map(|beats| beats.to_string()).unwrap_or_default();
            let mut recovery = Recovery::default();
            let result = self.recover_all(&dead, &beats, &mut recovery).await;
            others.unreported.add(&recovery);
            if recovery != Recovery::default() || result.as_ref().is_ok_and(|is_dead| *is_dead) {
                let (bucket, Recovery { recovered, poisoned, .. }) = (&self.settings().name, recovery);
                tracing::warn!(
                    %bucket, replica = %dead, recovered, poisoned,
                    "a replica missed its heartbeats; its jobs were requeued"
                );
            }
            result?;
            others.watch.seen.remove(&dead);
        }
        Ok(Recovery { fenced, ..mem::take(&mut others.unreported) })
    }

    /// Returns all other consumers with their heartbeats, or `None` if `consumer` is no longer a member.
    async fn heartbeat(&self, consumer: &str) -> Result<Option<HashMap<String, Option<u64>>>, BucketError> {
        let keys = self.keys.and_takers(vec![self.keys.jobs(), self.keys.replicas(), self.keys.members()]);
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

    /// Requeues the jobs of `consumer`. Returns `None` if it has sent another heartbeat. `beats`: as in recover.lua.
    pub(crate) async fn take_over(&self, consumer: &str, beats: &str) -> Result<Option<Recovery>, BucketError> {
        let mut recovery = Recovery::default();
        Ok(self.recover_all(consumer, beats, &mut recovery).await?.then_some(recovery))
    }

    /// Like [`Self::take_over`], with `false` for its `None`. Adds what was recovered to `recovery`, even on an error.
    async fn recover_all(&self, consumer: &str, beats: &str, recovery: &mut Recovery) -> Result<bool, BucketError> {
        let (mut beats, mut suspects) = (beats, 0);
        loop {
            let call = self.recover_call(consumer, beats, suspects);
            let mut reply = Reply::new("recover", self.store.run::<Value>(&call).await?)?;
            let word = reply.text()?;
            if word == "alive" {
                return Ok(false);
            }
            recovery.recovered += reply.count()?;
            recovery.poisoned += reply.count()?;
            suspects = reply.count()?;
            if word == "gone" {
                return Ok(true);
            }
            // The first call has ended its membership.
            beats = if beats == "*" { "*" } else { "" };
        }
    }

    fn recover_call(&self, consumer: &str, beats: &str, suspects: u64) -> dripfeed_store::Call<'static> {
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
            keys.letter_sizes(),
            keys.takes(),
            keys.holders(),
            keys.keyed_jobs(),
            keys.key_ends(),
            keys.notices(),
            keys.pace(),
        ];
        let common = keys.and_outbox(common, &settings.on_outcome);
        let mut call = RECOVER.of(self.kind).on(&keys.and_held(common, consumer));
        call.arg(consumer).arg(beats).arg(settings.deliveries).arg(settings.packed_ends());
        call.arg(BATCH_JOBS).arg(suspects);
        call
    }
}
