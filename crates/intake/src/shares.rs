//! Concurrency limits per caller, so that one caller doesn't delay others: requests to Redis, and requests that stay
//! open.

pub(crate) mod turns;
pub(crate) mod wait_limit;
mod waiter;

pub(crate) use waiter::Waiter;
