//! From the claim of a job to its settlement, and what becomes of a dead replica's jobs.

pub(crate) mod heartbeat_watch;
pub(crate) mod orphaned_claims;
pub(crate) mod permit;
pub(crate) mod recover;
pub(crate) mod replica;
pub(crate) mod retries;
pub(crate) mod settle;
pub(crate) mod standby;
pub(crate) mod take;
