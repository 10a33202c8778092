//! Inspecting, cancelling and replaying jobs.

pub(crate) mod cancel;
pub(crate) mod cancel_many;
mod dead_filter;
pub(crate) mod dead_groups;
pub(crate) mod dead_letters;
pub(crate) mod delete_dead;
mod failed_attempt;
pub(crate) mod job;
pub(crate) mod list;
pub(crate) mod outcomes;
mod payload;
pub(crate) mod replay;
pub(crate) mod replays;
pub(crate) mod report;
