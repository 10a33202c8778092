//! Lists the flows with waiting jobs, in the order of their turns.

use std::time::Duration;

use dripfeed_job::{JobId, Priority};
use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::redis_bucket::WaitFor;
use crate::script::scripts::STREAM;
use crate::settings::Kind;
use crate::settings::fair::FairBy;

static SCRIPT: Script = Script::new("flows", STREAM, include_str!("flows.lua"));

/// The flows with waiting jobs, in the order of their turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flows {
    pub by: FairBy,
    /// The priorities of waiting jobs, highest first.
    pub priorities: Vec<PriorityState>,
    pub items: Vec<Flow>,
    /// The number of flows, including those without waiting jobs.
    pub known: u64,
}

/// The waiting jobs of one priority. One script may not be able to count all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityState {
    pub priority: Priority,
    pub waiting: u64,
    /// Age of the oldest of these jobs. `None` if it was cancelled meanwhile.
    pub oldest_age: Option<Duration>,
}

/// The waiting jobs of one caller, or group, at one priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// `None` for jobs without a caller, or of a group.
    pub caller: Option<String>,
    pub group: Option<String>,
    pub priority: Priority,
    /// The minimum number of waiting jobs: if they are in more than 1,000 ranges, the others aren't counted.
    pub waiting: u64,
    pub weight: u16,
    /// Calls in flight of this caller, or group, at all priorities. `None` if they aren't counted: no limits are set.
    pub in_flight: Option<u64>,
    pub is_paused: bool,
    /// The end of a throttle in ms of the Redis clock; it may end earlier with one of the calls. `None`: not throttled,
    /// or paused.
    pub throttled_until_ms: Option<u64>,
}

impl Bucket {
    /// Returns the first `limit` flows with waiting jobs. First sorts in new jobs, as many as a script may read.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a list bucket.
    pub async fn flows(&self, limit: usize) -> Result<Flows, BucketError> {
        let redis_bucket = &self.redis_bucket;
        if redis_bucket.kind == Kind::List {
            return Err(BucketError::Unsupported("fair queuing"));
        }
        let keys = &redis_bucket.keys;
        let (effective, mut reply) = redis_bucket
            .run_with_settings("flows", WaitFor::Reply, |effective| {
                let known = [keys.jobs(), keys.tally(), keys.control()].into_iter().chain(keys.in_order());
                let mut call = SCRIPT.on(&known.collect::<Vec<_>>());
                call.arg(&effective.version).arg(&effective.weights).arg(limit);
                call
            })
            .await?;
        let fair = &effective.settings.fair;
        let (known, now_ms) = (reply.count()?, reply.count()?);
        let (mut of_priorities, mut of_flows) = (reply.array()?, reply.array()?);
        let mut priorities = Vec::new();
        while !of_priorities.is_empty() {
            let (priority, waiting) = (of_priorities.parse()?, of_priorities.count()?);
            let oldest: Option<JobId> = of_priorities.shown()?.parse().ok();
            let oldest_age = oldest.map(|id| Duration::from_millis(now_ms.saturating_sub(id.accepted_ms())));
            priorities.push(PriorityState { priority, waiting, oldest_age });
        }
        let mut items = Vec::new();
        while !of_flows.is_empty() {
            let mut flow = of_flows.array()?;
            let (priority, is_group) = (flow.parse()?, flow.count()? == 1);
            let (name, waiting) = (flow.shown()?, flow.count()?);
            let weight = fair.weight_of(&name);
            let is_paused = fair.is_paused(&name);
            let (in_flight, throttled_until_ms) = (flow.shown()?.parse().ok(), flow.shown()?.parse().ok());
            let throttled_until_ms = throttled_until_ms.filter(|_| !is_paused);
            let name = Some(name).filter(|name| !name.is_empty());
            let (group, caller) = if is_group { (name, None) } else { (None, name) };
            items.push(Flow { caller, group, priority, waiting, weight, in_flight, is_paused, throttled_until_ms });
        }
        Ok(Flows { by: fair.by, priorities, items, known })
    }
}
