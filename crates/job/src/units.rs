//! Durations, times, rates, shares and sizes in text form.

pub mod duration;
pub mod expected;
pub mod rate;
pub mod share;
pub mod size;
pub mod time;
