//! Who waits, and whose turn it is.

use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::redis_bucket::WaitFor;
use crate::script::scripts::STREAM;
use crate::settings::Kind;
use crate::settings::fair::FairBy;

static SCRIPT: Script = Script::new("flows", STREAM, include_str!("flows.lua"));

/// Those who wait, in the order of their turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flows {
    pub by: FairBy,
    pub items: Vec<Flow>,
    /// All flows, also those of which nothing waits.
    pub known: u64,
}

/// What one caller has waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// None: of jobs without a caller.
    pub caller: Option<String>,
    /// At least this many jobs: where they are scattered over very many runs, not all of these are looked at.
    pub waiting: u64,
    pub weight: u16,
}

impl Bucket {
    /// The first `limit` of those who wait. What nobody had to sort yet is sorted in, as far as a script may read it.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a list bucket.
    pub async fn flows(&self, limit: usize) -> Result<Flows, BucketError> {
        let redis_bucket = &self.redis_bucket;
        if redis_bucket.kind == Kind::List {
            return Err(BucketError::Unsupported("let callers take turns"));
        }
        let keys = &redis_bucket.keys;
        let (effective, mut reply) = redis_bucket
            .run_with_settings("flows", WaitFor::Reply, |effective| {
                let [parked, flows, ranges] = keys.in_order();
                let mut call = SCRIPT.on(&[keys.jobs(), keys.tally(), keys.control(), parked, flows, ranges]);
                call.arg(&effective.version).arg(effective.settings.fair.weights_of_turns()).arg(limit);
                call
            })
            .await?;
        let fair = &effective.settings.fair;
        let known = reply.count()?;
        let mut items = Vec::new();
        while !reply.is_empty() {
            let (caller, waiting) = (reply.shown()?, reply.count()?);
            let weight = fair.weights.of(&caller);
            items.push(Flow { caller: Some(caller).filter(|caller| !caller.is_empty()), waiting, weight });
        }
        Ok(Flows { by: fair.by, items, known })
    }
}
