//! Tests of the whole, a folder for each question: over a private Redis, and where it matters over real processes.

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
/// Every kind of Redis, and everything that it can answer.
mod redis;
/// Attacks, permissions and secrets.
mod security;
