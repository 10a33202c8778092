//! Limits per caller, so that one caller doesn't delay others: of requests to Redis, of requests that stay open, and of
//! memory for bodies.

pub(crate) mod body_budget;
pub(crate) mod caller_counts;
pub(crate) mod turns;
pub(crate) mod wait_limit;
