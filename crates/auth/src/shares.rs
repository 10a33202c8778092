//! Limits per caller, so that one caller doesn't delay others: its requests to Redis, and its requests that stay open.

pub(crate) mod caller_counts;
pub(crate) mod turns;
pub(crate) mod wait_limit;
