//! Makes a process a member of a bucket's consumer group.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bucket::Bucket;
use crate::deliver::replica::{Consumer, JoinKind, Replica};
use crate::deliver::take::LastTake;
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;

pub(crate) static SCRIPT: Scripts = Scripts::new("join", include_str!("join.lua"));

/// The answer if the bucket has members, and if it was deleted.
const OTHERS: &str = "others";
const GONE: &str = "gone";

pub(super) struct JoinRequest<'a> {
    pub(super) consumer: Consumer,
    pub(super) lease: Duration,
    pub(super) life: JoinKind,
    /// After a standby: the name of this process there, and when it last took jobs.
    pub(super) standby: Option<(&'a str, Instant)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JoinIf {
    Always,
    /// Only if the bucket has no member.
    First,
}

impl Bucket {
    /// Joins the bucket's consumer group. A member without a heartbeat for `lease` is declared dead.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; when the bucket was deleted or created again
    /// over the API.
    pub async fn join(&self, consumer: Consumer, lease: Duration, life: JoinKind) -> Result<Replica, BucketError> {
        JoinRequest { consumer, lease, life, standby: None }.join(&self.redis_bucket).await
    }
}

impl JoinRequest<'_> {
    pub(super) async fn join(self, redis_bucket: &Arc<RedisBucket>) -> Result<Replica, BucketError> {
        let joined = self.run(redis_bucket, JoinIf::Always).await?;
        joined.ok_or_else(|| BucketError::Reply { script: "join", what: OTHERS.to_owned() })
    }

    /// Returns `None` if the bucket has a member.
    pub(super) async fn join_first(self, redis_bucket: &Arc<RedisBucket>) -> Result<Option<Replica>, BucketError> {
        self.run(redis_bucket, JoinIf::First).await
    }

    async fn run(self, redis_bucket: &Arc<RedisBucket>, join_if: JoinIf) -> Result<Option<Replica>, BucketError> {
        let at = self.standby.map_or_else(Instant::now, |(_, last_take)| last_take);
        let (keys, new_jobs) = (&redis_bucket.keys, redis_bucket.new_jobs());
        let common = vec![
            keys.jobs(),
            keys.replicas(),
            keys.pace(),
            keys.pace_tiers(),
            keys.standby(),
            keys.control(),
            keys.members(),
            keys.meter(),
            keys.tally(),
        ];
        let mut call = SCRIPT.of(redis_bucket.kind).on(&keys.and_takers(common));
        call.arg(self.consumer.as_str()).arg(u8::from(self.life == JoinKind::First));
        call.arg(self.standby.map_or_else(String::new, |(name, _)| name.to_owned()));
        call.arg(u8::from(join_if == JoinIf::First));
        call.arg(redis_bucket.incarnation_word()).arg(self.lease.as_millis());
        let (answer, joined_us, dropped): (String, u64, u64) =
            redis_bucket.in_own_kind(|| async { Ok(redis_bucket.store.run(&call).await?) }).await?;
        match answer.as_str() {
            OTHERS => return Ok(None),
            GONE => return Err(BucketError::Gone),
            _ => {}
        }
        // After a standby the last take was earlier, and the Redis clock at that time isn't known.
        let redis_us = self.standby.is_none().then_some(joined_us);
        // A process that took jobs before its standby has measured the time since then.
        let knows_time = self.standby.is_some() && self.life == JoinKind::Rejoin;
        let last_take = LastTake { at, redis_us, joined_us: (!knows_time).then_some(joined_us) };
        Ok(Some(Replica::new(redis_bucket.clone(), self.consumer, self.lease, new_jobs, last_take, dropped)))
    }
}
