//! Durations, times, rates, shares, sizes and counts in text form.

pub(crate) mod counted;
pub mod duration;
pub mod expected;
pub mod rate;
pub mod share;
pub mod size;
pub mod time;
