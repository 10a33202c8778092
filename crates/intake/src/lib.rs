//! The HTTP API: submits jobs, and inspects and operates buckets, jobs and services. One file per operation.
//!
//! The path of a submission: `router::entry_point` or `router` (the route) → `request::access` (authorization) →
//! `submit::{single, proxy, batch}` (parsing) → `submit::admit` (the bucket decides) → `submit::{receipt, sync_wait}`
//! or `problem` (the response).
//!
//! **Architecture invariant:** this crate doesn't know Redis keys or commands. A request for an unknown bucket is
//! refused before Redis is queried.

mod buckets;
mod events;
mod installation;
mod intake;
mod jobs;
pub mod metrics;
mod openapi;
pub mod probes;
mod problem;
mod readings;
mod request;
mod router;
mod schedules;
mod services;
mod settings;
mod submit;

pub use buckets::define::definitions::{DefinitionError, Definitions, PreparedDefinition};
pub use installation::redis_servers::RedisServers;
pub use intake::Intake;
pub use problem::Problem;
pub use request::added_routes::read_json;
pub use router::entry_point::EntryPoint;
pub use router::openapi;
pub use schedules::firing::submit_scheduled;
pub use settings::IntakeSettings;
