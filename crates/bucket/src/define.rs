//! Buckets at run time: definitions in Redis that every process follows, and the incarnations of a name.
//!
//! The registry (`put_definition`, `delete_definition`, `changed_definitions`) has a version for each change, so that
//! a process asks what has changed since the one it knows. What a definition says, only its reader knows: here it is a
//! text.
//!
//! A bucket that is created again has the name of one that was deleted, and nothing else of it. So each creation is an
//! *incarnation*, a number that is written to the bucket's own `control` (`open_bucket`, `close_bucket`), where each
//! script that works with the bucket finds it: a process that doesn't know yet that a bucket was deleted admits
//! nothing, and takes nothing.
//!
//! A `deletion` suspends the bucket (`suspend_bucket`), then decides in the registry whether the definition still is
//! the one that its caller knows (`begin_deletion`), and only then takes anything away: it purges, closes
//! (`close_bucket`) and clears the bucket, and removes the definition. Who is stopped before the decision has done
//! nothing that a later definition doesn't undo (`open_bucket`), or a minute (`reopen_bucket`); who is stopped after it
//! has others end it.

pub(crate) mod changed_definitions;
pub(crate) mod clear_bucket;
pub(crate) mod definition;
pub(crate) mod definition_keys;
pub(crate) mod deletion;
pub(crate) mod open_bucket;
pub(crate) mod place_is_taken;
pub(crate) mod put_definition;
