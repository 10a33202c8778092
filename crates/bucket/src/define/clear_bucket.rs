//! Deletes the data of a deleted bucket.

use dripfeed_store::Script;
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("clear_bucket", SHARED, include_str!("clear_bucket.lua"));

/// The maximum number of idempotency keys deleted in one call.
const MOST_KEYS: usize = 500;

impl Bucket {
    /// Deletes the bucket's data and the keys in `besides`, unless it is open, has jobs, or was created again later.
    pub(super) async fn clear(&self, incarnation: u64, besides: Vec<String>) -> Result<(), BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut fixed = vec![keys.jobs(), keys.control(), keys.takers(), keys.key_ends(), keys.keyed_jobs()];
        fixed.extend([keys.tally(), keys.outcomes(), keys.ended(), keys.dead(), keys.letters(), keys.letter_sizes()]);
        fixed.extend(keys.left_behind());
        fixed.extend(besides);
        // A script may only touch keys that are passed to it. So each call returns the idempotency keys that the next
        // one deletes.
        let mut names = Vec::new();
        loop {
            let before = fixed.len();
            let mut call = SCRIPT.on(&[fixed.clone(), names].concat());
            call.arg(incarnation).arg(before).arg(MOST_KEYS);
            let mut reply = Reply::new("clear_bucket", self.redis_bucket.store.run_durably::<Value>(&call).await?)?;
            if reply.text()? != "more" {
                return Ok(());
            }
            names = Vec::new();
            while !reply.is_empty() {
                names.push(reply.text()?);
            }
        }
    }
}
