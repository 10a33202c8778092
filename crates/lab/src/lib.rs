//! Published limiters and ours under the same load, side by side, as numbers and charts.
//!
//! An [`Experiment`] runs on a [`Ground`] and comes to an [`Outcome`]: rows that hold a published figure, what the published
//! approach comes to here, and ours against its bound; and a chart.

mod asking;
mod buckets;
mod chart;
mod clock;
mod commands;
mod error;
mod experiment;
mod experiments;
mod findings;
mod ground;
mod outcome;
mod passes;
mod replica;
mod time_series;
mod upstream;

pub use error::LabError;
pub use experiment::{EXPERIMENTS, Experiment};
pub use findings::Row;
pub use ground::Ground;
pub use outcome::Outcome;
