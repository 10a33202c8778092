//! The fault injection suite: a seeded load, real processes in slots that restart them, proxies and breakpoints on
//! their connections, an upstream that records every call, and invariants that are checked after every run.
//!
//! A row of the suite begins a [`run::Run`], injects its faults into the [`harness::Harness`], and finishes the run.

pub mod breakpoint;
pub mod driver;
pub mod event_log;
pub mod failover;
pub mod group_pace;
pub mod harness;
pub mod invariants;
pub mod jobs;
pub mod ledger;
pub mod monitor;
pub mod process_slot;
pub mod report;
pub mod run;
pub mod turns;
pub mod upstream;
