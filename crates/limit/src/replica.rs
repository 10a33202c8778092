//! Decisions without a call to Redis: leased quota, asynchronous counters, cached refusals, and decisions while Redis
//! is unavailable.

pub(crate) mod async_counter;
mod counted_scope;
mod evicted;
pub(crate) mod lease_account;
pub(crate) mod leased;
mod next_report;
pub(crate) mod outage;
pub(crate) mod refusal_cache;
