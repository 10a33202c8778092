//! Limits per caller, so that one caller doesn't delay others: its requests to Redis, its requests that stay open,
//! and the memory of its bodies.

pub(crate) mod body_budget;
pub(crate) mod caller_counts;
pub(crate) mod turns;
pub(crate) mod wait_limit;
