//! A Redis Cluster of which some nodes can't be reached: what the others have is still looked at.

use dripfeed_store::{RedisSettings, Store};

use crate::exit::{Exit, Failure};

/// Connects, also to a Cluster in part, and says why not to the rest.
pub(in crate::command) struct PartialStore {
    pub(in crate::command) store: Store,
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

    /// What can't be had while a node is away is left out, with the reason.
    pub(in crate::command) fn unless_away<T>(
        &self,
        answer: Result<T, impl Into<Failure>>,
    ) -> Result<Result<T, String>, Failure> {
        match answer.map_err(Into::into) {
            Err(failure) if failure.exit == Exit::Unreachable && !self.away.is_empty() => Ok(Err(failure.to_string())),
            answer => answer.map(Ok),
        }
    }

    /// At the end: whether all was looked at.
    pub(in crate::command) fn verdict(&self) -> Result<(), Failure> {
        match self.away.len() {
            0 => Ok(()),
            away => Err(Failure::new(Exit::Unreachable, format!("nodes of Redis that can't be reached: {away}"))),
        }
    }
}
