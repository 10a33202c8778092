//! How dripfeed reaches Redis, one server, Sentinel or Cluster: shared connections that renew themselves, scripts, what the server
//! at hand promises, and the private server of `dripfeed dev`.
//!
//! Nothing here knows what a job is.
//!
//! Connections speak RESP3, so replies that are maps arrive as maps (HGETALL, XREADGROUP, CONFIG
//! GET …); `redis::FromRedisValue` reads them into maps and into lists of pairs alike. What a script
//! returns is as in RESP2.

mod append_fsync;
mod cluster;
mod connector;
mod dedicated;
mod dial;
mod durability;
mod effective;
mod error;
mod facts;
mod findings;
mod followers;
mod line;
mod mark;
mod newest;
mod node;
mod permission;
mod replicated;
mod request;
mod script;
mod sentinel;
mod server;
mod settings;
mod store;
mod url;

pub use append_fsync::AppendFsync;
pub use cluster::same_slot;
pub use dedicated::Dedicated;
pub use durability::Durability;
pub use effective::{Effective, Shortfall, effective};
pub use error::{Certainty, ErrorKind, StoreError};
pub use facts::{Facts, Version};
pub use findings::{Finding, Severity, findings};
pub use permission::denied;
pub use script::{Call, Script};
pub use server::{PrivateServer, ServerError, ServerOptions};
pub use settings::RedisSettings;
pub use store::Store;
pub use url::{Address, AddressError};
