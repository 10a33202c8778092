//! Schedules: definitions, and submitting their jobs.
//!
//! `definition` parses a schedule from a request and from Redis; `firing` runs in every intake and submits the job of
//! each tick.

pub(crate) mod define;
mod definition;
pub(crate) mod delete;
pub(crate) mod firing;
mod job_schema;
pub(crate) mod list;
mod owned;
mod round;
pub(crate) mod run;
mod state;
pub(crate) mod switch;
mod tick_counts;
