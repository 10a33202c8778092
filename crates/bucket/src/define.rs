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

pub(crate) mod changed_definitions;
pub(crate) mod clear_bucket;
pub(crate) mod close_bucket;
pub(crate) mod definition;
pub(crate) mod definition_keys;
pub(crate) mod delete_definition;
pub(crate) mod open_bucket;
pub(crate) mod place_is_taken;
pub(crate) mod put_definition;
