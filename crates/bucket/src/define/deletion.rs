//! The steps of a deletion, in order: suspend the bucket, decide, delete its data. If it is interrupted before the
//! decision, the bucket opens again.

pub(crate) mod suspend_bucket;

pub(crate) mod begin_deletion;

pub(crate) mod close_bucket;

pub(crate) mod delete_definition;

pub(crate) mod deletion_is_decided;

pub(crate) mod reopen_bucket;
