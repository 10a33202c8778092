//! What is kept of jobs that have ended: outcomes, dead letters, idempotency keys, and who waits for them.

pub(crate) mod await_outcome;
pub(crate) mod dead_letters;
pub(crate) mod ended_job;
pub(crate) mod forget;
pub(crate) mod outcomes;
pub(crate) mod replay;
pub(crate) mod replays;
pub(crate) mod retention;
