//! In which period each call was let go, as Redis knows it: an upstream sees calls a little later, one more so than the
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dripfeed_store::{Script, Store};
use tokio::time::{MissedTickBehavior, interval};

use crate::clock::Clock;
use crate::error::LabError;

pub(super) const PERIOD: Duration = Duration::from_millis(500);

static TAKEN: Script = Script::new("taken", &[], include_str!("taken.lua"));

/// The time between two reads, short enough to see each job while it is in flight.
const LOOK: Duration = Duration::from_millis(10);

/// When each job was taken, in ms of the Redis clock: more than once, when it was returned or its replica died.
#[derive(Default)]
pub(super) struct Takes(BTreeMap<String, BTreeSet<i64>>);

/// Calls by the period in which they were allowed.
pub(super) struct Periods {
    pub(super) most_in_one: u64,
    /// Calls whose period is known.
    pub(super) known: u64,
}

impl Takes {
    /// Reads the jobs in flight periodically, forever.
    pub(super) async fn watch(&mut self, store: &Store, jobs: &str) -> Result<(), LabError> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let taken: Vec<(String, i64)> = store.run(&TAKEN.on(&[jobs])).await?;
            for (id, ms) in taken {
                self.saw(id, ms);
            }
        }
    }

    /// Redis reads its clock once more to report the time than to report the age, so a take may seem a millisecond
    /// later than it was: of two looks at one the earlier is right.
    fn saw(&mut self, id: String, ms: i64) {
        let takes = self.0.entry(id).or_default();
        if !takes.contains(&(ms - 1)) {
            takes.remove(&(ms + 1));
            takes.insert(ms);
        }
    }

    /// Counts a call for the last take before it.
    pub(super) fn periods(&self, calls: &[(String, Instant)], clock: Clock) -> Periods {
        let period = i64::try_from(PERIOD.as_millis()).unwrap_or(1);
        let mut periods = BTreeMap::<i64, u64>::new();
        for (id, came) in calls {
            let came = clock.us(*came) / 1000;
            let taken = self.0.get(id).and_then(|taken| taken.range(..=came).next_back());
            if let Some(ms) = taken {
                *periods.entry(ms / period).or_default() += 1;
            }
        }
        Periods { most_in_one: periods.values().copied().max().unwrap_or(0), known: periods.values().sum() }
    }
}
