//! The steps of a deletion, in their order: a bucket is suspended, then it is decided, and only then anything is taken
//! away. Where somebody was stopped before the decision, the bucket opens again.

pub(crate) mod suspend_bucket;

pub(crate) mod begin_deletion;

pub(crate) mod close_bucket;

pub(crate) mod delete_definition;

pub(crate) mod deletion_is_decided;

pub(crate) mod reopen_bucket;
