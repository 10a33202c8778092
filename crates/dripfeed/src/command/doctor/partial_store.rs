//! A Redis Cluster of which some nodes may be unreachable. The data of the others are still checked.

use dripfeed_store::{RedisSettings, Store};

use crate::exit::{Exit, Failure};

pub(in crate::command) struct PartialStore {
    pub(in crate::command) store: Store,
    /// Why each unreachable node is unreachable.
    pub(in crate::command) away: Vec<String>,
}

impl PartialStore {
    /// # Errors
    /// When no node can be reached, or one denies access.
    pub(in crate::command) async fn connect(settings: &RedisSettings) -> Result<Self, Failure> {
        let (store, away) = Store::connect_to_reachable(settings).await?;
        let away = away.into_iter().map(|error| Failure::from(error).to_string()).collect();
        Ok(Self { store, away })
    }

    /// Moves an unreachable node's error into the inner result, so that the check goes on.
    pub(in crate::command) fn unless_away<T>(
        &self,
        result: Result<T, impl Into<Failure>>,
    ) -> Result<Result<T, String>, Failure> {
        match result.map_err(Into::into) {
            Err(failure) if failure.exit == Exit::Unreachable && !self.away.is_empty() => Ok(Err(failure.to_string())),
            result => result.map(Ok),
        }
    }

    /// Fails if some nodes couldn't be checked.
    pub(in crate::command) fn verdict(&self) -> Result<(), Failure> {
        match self.away.len() {
            0 => Ok(()),
            away => Err(Failure::new(Exit::Unreachable, format!("nodes of Redis that can't be reached: {away}"))),
        }
    }
}
