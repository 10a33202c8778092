//! Data that is retained of ended jobs: outcomes, dead letters and idempotency keys. And waiting for an outcome.

pub(crate) mod await_outcome;
pub(crate) mod dead_letters;
pub(crate) mod ended_job;
pub(crate) mod expire;
pub(crate) mod forget;
pub(crate) mod outcomes;
pub(crate) mod replay;
pub(crate) mod replays;
pub(crate) mod retention;
