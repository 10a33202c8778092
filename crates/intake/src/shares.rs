//! Limits per caller, so that one caller doesn't delay others: requests to Redis, requests that stay open, and bodies
//! in memory.

pub(crate) mod body_budget;
mod caller_counts;
pub(crate) mod turns;
pub(crate) mod wait_limit;
mod waiter;

pub(crate) use waiter::Waiter;
