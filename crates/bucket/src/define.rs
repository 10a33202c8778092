//! Buckets created over the API: definitions in Redis that every process follows, and incarnations of a name.
//!
//! The registry (`put_definition`, `delete_definition`, `changed_definitions`) gives each change a version, so that a
//! process asks for changes since the version it knows. This crate doesn't parse definitions; to it they are strings.
//!
//! A bucket that is created again shares only its name with the deleted one. Therefore each creation is an
//! *incarnation*, a number in the bucket's `control` (`open_bucket`, `close_bucket`) that every script of the bucket
//! compares: a process that hasn't seen the deletion yet can neither enqueue nor claim a job.
//!
//! A `deletion` first suspends the bucket (`suspend_bucket`), then decides in the registry whether the definition still
//! has the version that the caller knows (`begin_deletion`). Only then it purges, closes (`close_bucket`) and clears
//! the bucket, and removes the definition. If the process dies before the decision, a later definition (`open_bucket`)
//! or the next minute (`reopen_bucket`) undoes the suspension; if it dies after the decision, another process completes
//! the deletion.

pub(crate) mod changed_definitions;
pub(crate) mod clear_bucket;
pub(crate) mod definition;
pub(crate) mod definition_keys;
pub(crate) mod deletion;
pub(crate) mod leftover_data;
pub(crate) mod open_bucket;
pub(crate) mod put_definition;
