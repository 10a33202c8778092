//! The rules over a real Redis, and the ways to decide by them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

/// A Redis of one test, and the rules on it at times of the test's choice.
mod bench;
/// Limits that change while they are in use.
mod changes;
/// Redis clocks that are set.
mod clocks;
/// Shares taken ahead, and counts reported later.
mod consistency;
/// What each kind means, from the history of all that was done.
mod definition;
/// The rules in Lua against those in Rust, and those against what each kind means, over random operations.
mod differential;
/// The tower layer.
mod layer;
/// Decisions as a service makes them.
mod limiter;
/// The bucket against another implementation of it.
mod oracle;
/// Redis away.
mod outage;
/// The loads and examples of published limiters.
mod published;
/// Refusals that are remembered.
mod refusals;
/// Rules of services, registered at run time.
mod registry;
/// Each rule's arithmetic, by example.
mod rules;
/// What scopes take in Redis, and how long they are kept.
mod upkeep;
/// How long to wait, as it is reported.
mod waits;
/// What passes in any window of time, of a million decisions.
mod windows;
