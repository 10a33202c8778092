//! Finds keys of a bucket with a wrong type, written by hand. Scripts fail at such a key, and Redis' error doesn't name
//! it.

use std::fmt;

use dripfeed_store::Script;

use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::SHARED;
use crate::settings::Kind;

static SCRIPT: Script = Script::new("key_types", SHARED, include_str!("key_types.lua"));

/// A key with a wrong type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongType {
    key: String,
    found: String,
    expected: &'static str,
}

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is a {}, not a {}", self.key, self.found, self.expected)
    }
}

/// The keys of a bucket and their types, without idempotency keys, batches and limits. `takers`: consumers of a list.
fn expected(keys: &Keys, kind: Kind, takers: &[String]) -> Vec<(String, &'static str)> {
    let of_both = [keys.replicas(), keys.members(), keys.standby(), keys.batches(), keys.takes(), keys.pace()];
    let counted = [keys.meter(), keys.tally(), keys.control(), keys.history(), keys.holders(), keys.refusals()];
    let ended =
        [keys.keyed_jobs(), keys.outcomes(), keys.letters(), keys.replays(), keys.schedules(), keys.schedule_states()];
    let (jobs, hashes, zsets) = match kind {
        Kind::Stream => {
            let hashes = vec![keys.attempts(), keys.failed(), keys.unburied(), keys.flow_state()];
            let zsets = vec![keys.parked(), keys.flows(), keys.ranges(), keys.throttled()];
            ("stream", hashes, zsets)
        }
        Kind::List => ("list", vec![keys.takers()], Vec::new()),
    };
    let hashes = of_both.into_iter().chain(counted).chain(ended).chain(hashes).map(|key| (key, "hash"));
    let ordered = [keys.ended(), keys.letter_sizes(), keys.notices(), keys.key_ends(), keys.next_ticks()];
    let zsets = ordered.into_iter().chain(zsets).map(|key| (key, "zset"));
    let streams = [keys.dead(), keys.outbox(), keys.audit()].map(|key| (key, "stream"));
    let strings = [keys.pace_tiers(), keys.outbox_lease()].map(|key| (key, "string"));
    let lists = takers.iter().map(|taker| (keys.taken(taker), "list"));
    hashes.chain(zsets).chain(streams).chain(strings).chain(lists).chain([(keys.jobs(), jobs)]).collect()
}

impl RedisBucket {
    /// The keys with a wrong type. Empty if that is only the key of the jobs, which other_kind.rs handles.
    pub(crate) async fn wrong_types(&self) -> Result<Vec<WrongType>, BucketError> {
        let takers = match self.kind {
            Kind::Stream => Vec::new(),
            // If the key of the takers itself has a wrong type, it is among the results.
            Kind::List => self.takers().await.unwrap_or_default(),
        };
        let (keys, types): (Vec<_>, Vec<_>) = expected(&self.keys, self.kind, &takers).into_iter().unzip();
        let mut call = SCRIPT.on(&keys);
        call.arg(&types);
        let wrong: Vec<(usize, String)> = self.store.run(&call).await?;
        let wrong = wrong.into_iter().filter_map(|(index, found)| {
            let index = index.checked_sub(1)?;
            Some(WrongType { key: keys.get(index)?.clone(), found, expected: types.get(index)? })
        });
        let mut wrong: Vec<WrongType> = wrong.collect();
        if wrong.iter().all(|wrong| wrong.key == self.keys.jobs()) {
            wrong.clear();
        }
        Ok(wrong)
    }
}
