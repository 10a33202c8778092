//! Errors that stop an experiment. A figure beyond its bound isn't one.

use std::io;

use dripfeed_bucket::BucketError;
use dripfeed_limit::{LimitError, LoadError};
use dripfeed_processor::{BadUpstream, ConnectorError};
use dripfeed_store::{ServerError, StoreError};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The server doesn't have time series (`TS.ADD`).
    #[error(
        "the server at {0} has no time series (TS.ADD): name one that has, such as Redis 8 or a Redis with the module \
         timeseries, as --redis URL"
    )]
    NoTimeSeries(String),
    #[error("the chart can't be drawn: {0}")]
    Chart(String),
    /// This machine lacks something: a port, a folder, or a thread.
    #[error("the lab can't be set up on this machine")]
    Machine(#[from] io::Error),
    /// A bug: an experiment's own settings are wrong.
    #[error("the settings of the experiment are wrong, which is a bug: {0}")]
    Settings(String),
    #[error("{0} in {limit:?}: is the machine too busy?", limit = .1)]
    Late(&'static str, std::time::Duration),
}

/// The error for settings of an experiment that can't be parsed.
macro_rules! wrong_settings {
    ($($error:ty),*) => { $(
        impl From<$error> for LabError {
            fn from(error: $error) -> Self {
                Self::Settings(error.to_string())
            }
        }
    )* };
}

wrong_settings!(LoadError, BadUpstream, ConnectorError, dripfeed_job::rate::BadRate, dripfeed_limit::BadPolicy);
