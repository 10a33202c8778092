//! Access to Redis (one server, Sentinel or Cluster): shared connections that reconnect automatically, scripts, checks
//! of the server, and the private server of `dripfeed dev`.
//!
//! This crate doesn't know jobs and buckets.
//!
//! Connections use RESP3, so replies that are maps arrive as maps (HGETALL, XREADGROUP, CONFIG GET …);
//! `redis::FromRedisValue` converts them into maps and into lists of pairs. Scripts return the types of RESP2.

mod checks;
mod cluster;
mod coalesced_query;
mod connect;
mod connection;
mod durability;
mod error;
mod installation;
mod large_requests;
mod node;
mod registry;
mod replicated;
mod salt;
mod script;
mod server;
mod settings;
mod store;
mod url;

pub use checks::acl::{acl_denials, acl_denials_in_scripts};
pub use checks::durability_check::{EffectiveDurability, Shortfall, effective_durability, provided_durability};
pub use checks::server_checks::{ServerFinding, Severity, server_findings};
pub use checks::server_info::{ServerInfo, Version};
pub use checks::slow_log::SlowCommand;
pub use checks::write_access::WriteAccess;
pub use cluster::same_slot;
pub use coalesced_query::CoalescedQuery;
pub use connection::bell::{Bell, BellMessages, Ring};
pub use connection::log_throttle::LogThrottle;
pub use connection::recurring_failure::{FailureReport, RecurringFailure};
pub use connection::restart_on_panic::restart_on_panic;
pub use connection::subscriptions::{ChannelEvent, Subscription};
pub use durability::Durability;
pub use durability::append_fsync::AppendFsync;
pub use error::pem_error::PemError;
pub use error::{Certainty, ErrorKind, StoreError};
pub use installation::{
    InstallationError, InstallationKeys, LAYOUT, OpenedInstallation, UnknownLayout, installed_layout, open_installation,
};
pub use large_requests::LargeTurn;
pub use registry::audit_log::AuditRecord;
pub use registry::known_entries::{KnownEntries, RegistryChanges};
pub use registry::{REGISTRY_FRAGMENTS, Registry, RegistryEntry};
pub use salt::Salt;
pub use script::{Call, Fragment, Fragments, Script};
pub use server::{FileLock, PrivateServer, ServerError, ServerOptions};
pub use settings::RedisSettings;
pub use store::Store;
pub use url::{Address, AddressError};
