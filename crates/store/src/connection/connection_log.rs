//! The log of all connections to one server, without repetitions.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::recurring_failure::{FailureReport, RecurringFailure};
use crate::error::StoreError;
use crate::url::Address;

/// Why a connection is replaced.
#[derive(Clone, Copy)]
pub(crate) enum Renewal<'r> {
    /// It was lost, or is considered lost.
    Lost(&'r dyn fmt::Display),
    /// The server refuses writes; another one may have taken over.
    Refused(&'r StoreError),
}

#[derive(Debug, Default)]
pub(crate) struct ConnectionLog {
    losses: RecurringFailure,
    failures: RecurringFailure,
    refusals: RecurringFailure,
}

impl ConnectionLog {
    pub(super) fn renews(&self, redis: &Address, renewal: Renewal<'_>) {
        match renewal {
            Renewal::Lost(reason) => match self.losses.occurred() {
                Some(FailureReport::Begun) => tracing::warn!(%redis, %reason, "Redis connection lost; reconnecting"),
                Some(FailureReport::Lasts(times)) => {
                    tracing::warn!(%redis, %reason, times, "Redis connections don't hold; more at level debug");
                }
                None => tracing::debug!(%redis, %reason, "Redis connection lost again"),
            },
            Renewal::Refused(reason) => {
                let code = reason.code();
                match self.refusals.occurred() {
                    Some(FailureReport::Begun) => tracing::warn!(
                        %redis, %reason, code, "Redis refuses writes; reconnecting until a server takes them"
                    ),
                    Some(FailureReport::Lasts(times)) => {
                        tracing::warn!(%redis, %reason, code, times, "Redis still refuses writes; more at level debug");
                    }
                    None => tracing::debug!(%redis, %reason, code, "Redis refuses writes; reconnecting"),
                }
            }
        }
    }

    /// Logs that no connection can be opened. `lasted`: for how long.
    pub(super) fn cannot_connect(&self, redis: &Address, error: &StoreError, lasted: Duration) {
        let (report, error) = (self.failures.occurred_for(lasted), error as &dyn Error);
        match report {
            Some(FailureReport::Begun) => tracing::warn!(%redis, error, "can't connect to Redis; retrying"),
            Some(FailureReport::Lasts(times)) => {
                tracing::warn!(%redis, error, times, "still can't connect to Redis; retrying");
            }
            None => tracing::debug!(%redis, error, "can't connect to Redis; retrying"),
        }
    }

    /// Logs that a lost connection was replaced.
    pub(super) fn reconnected(&self, redis: &Address) {
        let ends = [&self.losses, &self.failures].map(RecurringFailure::recovered);
        if ends.contains(&true) {
            tracing::info!(%redis, "reconnected to Redis");
        } else {
            tracing::debug!(%redis, "reconnected to Redis");
        }
    }

    /// Logs that the server accepts writes, if it has refused them before.
    pub(crate) fn takes_writes(&self, redis: &Address) {
        if let Some(lasted) = self.refusals.ended() {
            tracing::info!(%redis, seconds = lasted.as_secs_f64(), "Redis takes writes again");
        }
    }
}
