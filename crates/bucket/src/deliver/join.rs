//! Makes a process a member of a bucket's consumer group.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bucket::Bucket;
use crate::deliver::replica::{Consumer, Life, Replica};
use crate::deliver::take::Asked;
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;

pub(crate) static SCRIPT: Scripts = Scripts::new("join", include_str!("join.lua"));

/// The answer where the bucket has members, and where it was deleted.
const OTHERS: &str = "others";
const GONE: &str = "gone";

/// How a process becomes a member.
pub(super) struct JoinRequest<'a> {
    pub(super) consumer: Consumer,
    pub(super) lease: Duration,
    pub(super) life: Life,
    /// The name of this process on standby, and when it last asked for jobs.
    pub(super) before: Option<(&'a str, Instant)>,
}

/// Who may become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Any,
    First,
}

impl Bucket {
    /// Joins the bucket's consumer group. A member without a heartbeat for `lease` is declared dead.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; when the bucket was deleted or created again
    /// over the API.
    pub async fn join(&self, consumer: Consumer, lease: Duration, life: Life) -> Result<Replica, BucketError> {
        JoinRequest { consumer, lease, life, before: None }.join(&self.redis_bucket).await
    }
}

impl JoinRequest<'_> {
    pub(super) async fn join(self, redis_bucket: &Arc<RedisBucket>) -> Result<Replica, BucketError> {
        let joined = self.run(redis_bucket, Who::Any).await?;
        joined.ok_or_else(|| BucketError::Reply { script: "join", what: OTHERS.to_owned() })
    }

    /// None: the bucket has a member.
    pub(super) async fn join_first(self, redis_bucket: &Arc<RedisBucket>) -> Result<Option<Replica>, BucketError> {
        self.run(redis_bucket, Who::First).await
    }

    async fn run(self, redis_bucket: &Arc<RedisBucket>, who: Who) -> Result<Option<Replica>, BucketError> {
        let at = self.before.map_or_else(Instant::now, |(_, asked)| asked);
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
        call.arg(self.consumer.as_str()).arg(u8::from(self.life == Life::First));
        call.arg(self.before.map_or_else(String::new, |(name, _)| name.to_owned())).arg(u8::from(who == Who::First));
        call.arg(redis_bucket.incarnation_word()).arg(self.lease.as_millis());
        let (joined, joined_us, dropped): (String, u64, u64) =
            redis_bucket.in_own_kind(|| async { Ok(redis_bucket.store.run(&call).await?) }).await?;
        match joined.as_str() {
            OTHERS => return Ok(None),
            GONE => return Err(BucketError::Gone),
            _ => {}
        }
        // On standby the Redis clock wasn't looked at.
        let redis_us = self.before.is_none().then_some(joined_us);
        // Who asked before, and stood by since, knows what has passed.
        let knows = self.before.is_some() && self.life == Life::Again;
        let asked = Asked { at, redis_us, joined_us: (!knows).then_some(joined_us) };
        Ok(Some(Replica::new(redis_bucket.clone(), self.consumer, self.lease, new_jobs, asked, dropped)))
    }
}
