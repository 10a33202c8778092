//! Access to Redis (one server, Sentinel or Cluster): shared connections that reconnect automatically, scripts, checks
//! of the server, and the private server of `dripfeed dev`.
//!
//! This crate doesn't know jobs and buckets.
//!
//! Connections use RESP3, so replies that are maps arrive as maps (HGETALL, XREADGROUP, CONFIG GET …);
//! `redis::FromRedisValue` converts them into maps and into lists of pairs. Scripts return the types of RESP2.

mod checks;
mod cluster;
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
mod shared_question;
mod store;
mod url;

pub use checks::acl::{denied, denied_in_scripts};
pub use checks::durability_check::{EffectiveDurability, Shortfall, effective, given};
pub use checks::server_checks::{ServerFinding, Severity, findings};
pub use checks::server_info::{ServerInfo, Version};
pub use checks::slow_log::SlowCommand;
pub use checks::write_access::WriteAccess;
pub use cluster::same_slot;
pub use connection::bell::{Bell, BellWords, Ring};
pub use connection::lasting_task::keep_running;
pub use connection::log_throttle::LogThrottle;
pub use connection::subscriptions::{ChannelEvent, Subscription};
pub use connection::trouble::{Trouble, TroubleReport};
pub use durability::Durability;
pub use durability::append_fsync::AppendFsync;
pub use error::pem_fault::PemFault;
pub use error::{Certainty, ErrorKind, StoreError};
pub use installation::{
    InstallationError, InstallationKeys, LAYOUT, OpenedInstallation, UnknownLayout, installed_layout, open_installation,
};
pub use large_requests::LargeTurn;
pub use registry::known_entries::{KnownEntries, News};
pub use registry::{REGISTRY_FRAGMENTS, Registry, RegistryEntry};
pub use salt::Salt;
pub use script::{Call, Fragment, Fragments, Script};
pub use server::{FileLock, PrivateServer, ServerError, ServerOptions};
pub use settings::RedisSettings;
pub use shared_question::SharedQuestion;
pub use store::Store;
pub use url::{Address, AddressError};
