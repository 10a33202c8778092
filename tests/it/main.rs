//! Tests of the whole, a folder for each question: over a private Redis, and where it matters over real processes; and
//! of the protocol alone.

/// One bucket and its scripts, without a process around them.
mod bucket;
/// Names that users rely on.
mod contract;
/// What the documents and files of the repository show.
mod documents;
/// A bucket's limits.
mod limits;
/// Operators' work: doctor, removed and moved buckets, push, shutdown.
mod operate;
/// The page: sessions, forms, and what is text there.
mod page;
/// The guarantees of the README, a module each.
mod promises;
/// The protocol of intakes, processors and scripts, in every order of steps and faults.
mod protocol_model;
/// Every kind of Redis, and everything that it can answer.
mod redis;
/// Attacks, permissions and secrets.
mod security;
/// Traces, of a `dripfeed` that can export them: `make trace-test`.
#[cfg(feature = "otlp")]
mod traces;
/// This version and an earlier one beside each other: `make upgrade`.
#[cfg(feature = "upgrade")]
mod upgrade;
