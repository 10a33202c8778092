//! From claiming a job to recording its outcome, and recovering the jobs of dead replicas.

pub(crate) mod charge;
pub(crate) mod heartbeat_watch;
pub(crate) mod join;
pub(crate) mod orphaned_claims;
pub(crate) mod permit;
pub(crate) mod recover;
pub(crate) mod replica;
pub(crate) mod settle;
pub(crate) mod standby;
pub(crate) mod take;
pub(crate) mod wakes;
