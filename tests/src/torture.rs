//! Faults under load: a seeded driver, real processes in slots where they are followed by new ones, proxies and traps
//! on their ways, an upstream that writes down every call, and the invariants that every run ends with.
//!
//! A row of the fault suite begins a [`run::Run`], does its faults to the [`harness::Harness`], and finishes it.

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
