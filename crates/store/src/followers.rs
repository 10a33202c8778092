//! How many replicas have to confirm a write, so that whichever becomes master has it.
//!
//! That is all that follow. One that left may have been promoted: then its old master, and the replicas that are still
//! with it, confirm what will be thrown away. So for a while fewer than before aren't enough, until it would be known
//! who the master is now.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use redis::Value;
use tokio::time::Instant;

/// Longer than Sentinel or Cluster take to tell of a promotion.
const UNTIL_TOLD: Duration = Duration::from_secs(5);

/// Those of one server.
#[derive(Debug, Default)]
pub(crate) struct Followers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// So many followed.
    known: u32,
    /// Since when fewer do.
    fewer_since: Option<Instant>,
}

impl Followers {
    /// How many have to confirm what is written next.
    pub(crate) fn needed(&self) -> u32 {
        self.state().known.max(1)
    }

    /// Whether one has left, and may be the master by now.
    pub(crate) fn is_one_missing(&self) -> bool {
        self.state().fewer_since.is_some()
    }

    /// So many follow now. Tells how many have to confirm what was just written.
    pub(crate) fn count(&self, following: u32) -> u32 {
        let mut state = self.state();
        let is_fewer = following < state.known;
        if is_fewer && state.fewer_since.get_or_insert_with(Instant::now).elapsed() < UNTIL_TOLD {
            return state.known;
        }
        *state = State { known: following, fewer_since: None };
        state.known.max(1)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many follow, by the answer to ROLE: `master`, the offset, the replicas that are in step.
pub(crate) fn following(role: &Value) -> u32 {
    match role {
        Value::Array(parts) => match &parts[..] {
            [_, _, Value::Array(replicas)] => u32::try_from(replicas.len()).unwrap_or(u32::MAX),
            _ => 0,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_that_left_is_missed_for_a_while() {
        let followers = Followers::default();
        assert_eq!(followers.needed(), 1);
        assert_eq!(followers.count(2), 2);
        assert_eq!((followers.count(1), followers.is_one_missing()), (2, true));
        assert_eq!((followers.count(2), followers.is_one_missing()), (2, false));
        followers.count(1);
        followers.state().fewer_since = Instant::now().checked_sub(UNTIL_TOLD);
        assert_eq!((followers.count(1), followers.is_one_missing()), (1, false));
        assert_eq!(followers.count(0), 1);
    }

    #[test]
    fn a_replica_has_no_followers() {
        let master = Value::Array(vec![
            Value::SimpleString("master".to_owned()),
            Value::Int(7),
            Value::Array(vec![Value::Array(Vec::new())]),
        ]);
        assert_eq!(following(&master), 1);
        let replica = Value::Array(vec![Value::SimpleString("slave".to_owned())]);
        assert_eq!(following(&replica), 0);
    }
}
