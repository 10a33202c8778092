//! Durations, rates, shares and sizes as people write them.

pub mod duration;
pub mod expected;
pub mod rate;
pub mod share;
pub mod size;
