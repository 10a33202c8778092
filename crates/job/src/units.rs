//! Durations, times, rates, shares, sizes and counts in text form.

pub mod duration;
pub mod expected;
pub(crate) mod pluralize;
pub mod rate;
pub mod share;
pub mod size;
pub mod time;
