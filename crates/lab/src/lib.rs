//! Compares published rate limiters with dripfeed's under the same load, as numbers and charts.
//!
//! An [`Experiment`] runs on a [`Testbed`] and comes to an [`Outcome`]: rows that hold a published figure, what the
//! published approach comes to here, and ours against its bound; and a chart.

mod buckets;
mod call_log;
mod chart;
mod clock;
mod commands;
mod error;
mod experiment;
mod experiments;
mod load;
mod outcome;
mod replica;
mod results;
mod testbed;
mod time_series;
mod upstream;

pub use error::LabError;
pub use experiment::{EXPERIMENTS, Experiment};
pub use outcome::Outcome;
pub use results::Row;
pub use testbed::Testbed;
