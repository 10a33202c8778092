//! Durations, times, rates, shares, sizes, counts and changes of values in text form.

pub mod audit_text;
pub mod duration;
pub mod expected;
pub(crate) mod pluralize;
pub mod rate;
pub mod share;
pub mod size;
pub mod time;
