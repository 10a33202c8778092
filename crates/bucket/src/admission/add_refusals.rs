//! Counts which caller was refused how often by which limit, at all intakes together.

use std::collections::BTreeMap;

use dripfeed_store::Script;
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("add_refusals", SHARED, include_str!("add_refusals.lua"));

/// The maximum number of counters of an hour, one per caller and limit.
pub const MAX_REFUSAL_COUNTERS: usize = 32;

/// How often a caller was refused by a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    pub caller: String,
    /// The id of a policy, [`crate::MAX_SHARE`], or a problem code if no limit of the caller refused.
    pub limit: String,
    pub refused: u64,
}

/// The result of [`Bucket::add_refusals`].
#[derive(Clone, Debug)]
pub struct RefusalCounts {
    /// False if Redis is out of memory: then nothing was written, but the counts are returned.
    pub are_added: bool,
    /// Of the current hour and the one before, most refusals first. Up to twice [`MAX_REFUSAL_COUNTERS`].
    pub counts: Vec<Refusals>,
}

impl Bucket {
    /// Adds refusals of this intake, and returns the counts of all. Uses the first [`MAX_REFUSAL_COUNTERS`] of them.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn add_refusals(&self, new: &[Refusals]) -> Result<RefusalCounts, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.control(), keys.refusals()]);
        call.arg(self.redis_bucket.incarnation_word()).arg(MAX_REFUSAL_COUNTERS);
        for Refusals { caller, limit, refused } in new.iter().take(MAX_REFUSAL_COUNTERS) {
            call.arg(format!("{limit} {caller}")).arg(*refused);
        }
        let mut reply = Reply::new("add_refusals", self.redis_bucket.store.run::<Value>(&call).await?)?;
        let are_added = reply.count()? == 1;
        // Both hours may have a counter for the same caller and limit.
        let mut sums = BTreeMap::<String, u64>::new();
        while !reply.is_empty() {
            let (pair, count) = (reply.shown()?, reply.count()?);
            *sums.entry(pair).or_default() += count;
        }
        let mut counts: Vec<Refusals> = sums.into_iter().filter_map(|(pair, refused)| of(&pair, refused)).collect();
        counts.sort_by_key(|counted| std::cmp::Reverse(counted.refused));
        Ok(RefusalCounts { are_added, counts })
    }
}

/// `pair`: limit and caller; ids of limits contain no spaces.
fn of(pair: &str, refused: u64) -> Option<Refusals> {
    let (limit, caller) = pair.split_once(' ')?;
    Some(Refusals { caller: caller.to_owned(), limit: limit.to_owned(), refused })
}
