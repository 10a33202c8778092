//! Faults under load: a seeded driver, real processes in slots where they are followed by new ones, proxies and traps on
//! their ways, an upstream that writes down every call, and the invariants that every run ends with.
//!
//! A row of the fault suite begins a [`run::Run`], does its faults to the [`stage::Stage`], and finishes it.

pub mod chronicle;
pub mod driver;
pub mod failover;
pub mod invariants;
pub mod jobs;
pub mod ledger;
pub mod report;
pub mod run;
pub mod slot;
pub mod stage;
pub mod trap;
pub mod upstream;
