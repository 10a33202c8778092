//! Retention of ended work by age, number and bytes. Every script that ends jobs deletes more records than it adds.
//! This module covers buckets in which no job ends, idempotency keys, and deadlines of jobs that no replica takes.

use std::sync::atomic::Ordering;

use dripfeed_store::Call;
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;

pub(crate) static SCRIPTS: Scripts = Scripts::new("retention", include_str!("retention.lua"));

/// Maximum calls in one round. A larger backlog takes several rounds.
const ROUNDS: usize = 100;
/// Maximum idempotency keys that are deleted in one call.
const MOST_KEYS: usize = 500;

/// The result of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Jobs that this round has ended because their deadline had passed.
    pub expired: u64,
    /// Dead letters deleted at the maximum number, bytes or age, since the bucket was created.
    pub dead_dropped: u64,
}

impl Bucket {
    /// Deletes expired records, and ends overdue jobs. To be called periodically, for buckets in which no job ends.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn enforce_retention(&self) -> Result<Retention, BucketError> {
        let redis_bucket = &self.redis_bucket;
        let mut retention = Retention::default();
        // A script may access only keys that are passed to it. So each call returns the idempotency keys whose time has
        // come, and the next call deletes them.
        let mut names = Vec::new();
        // Each round checks one page of the keyed jobs, and the next round continues behind it.
        let mut is_overdue = false;
        let mut keyed = redis_bucket.keyed_looked_at.load(Ordering::Relaxed).to_string();
        for _ in 0..ROUNDS {
            let call = redis_bucket.retention_call(names, &keyed);
            let mut reply = Reply::new("retention", redis_bucket.store.run::<Value>(&call).await?)?;
            let gone = reply.count()?;
            retention.dead_dropped = reply.count()?;
            is_overdue |= reply.count()? == 1;
            if let Ok(next) = reply.text()?.parse() {
                redis_bucket.keyed_looked_at.store(next, Ordering::Relaxed);
            }
            keyed.clear();
            names = Vec::new();
            while !reply.is_empty() {
                names.push(reply.text()?);
            }
            if gone == 0 && names.is_empty() {
                break;
            }
        }
        if is_overdue {
            retention.expired = redis_bucket.expire_overdue().await?;
        }
        Ok(retention)
    }
}

impl RedisBucket {
    fn retention_call(&self, names: Vec<String>, keyed: &str) -> Call<'static> {
        let keys = &self.keys;
        let mut common = vec![keys.tally(), keys.outcomes(), keys.ended()];
        common.extend([keys.dead(), keys.letters(), keys.letter_sizes()]);
        common.extend([keys.key_ends(), keys.keyed_jobs(), keys.jobs(), keys.outbox()]);
        let mut call = SCRIPTS.of(self.kind).on(&keys.and_takers([common, names].concat()));
        call.arg(self.effective_settings().settings.keep.packed()).arg(MOST_KEYS).arg(keyed);
        call
    }
}
