//! Measurements of one side, which several rows share.

pub(crate) mod admission;
pub(crate) mod callers;
pub(crate) mod drain;
pub(crate) mod jobs;
pub(crate) mod slow_load;
