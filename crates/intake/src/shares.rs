//! What one caller may have at once, so that it doesn't stop others: requests on their way to Redis, and those that
//! stay open.

pub(crate) mod turns;
pub(crate) mod wait_limit;
mod waiter;

pub(crate) use waiter::Waiter;
