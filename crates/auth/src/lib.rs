//! Authentication and authorization of callers: API keys, scopes, and checks against browser attacks.
//!
//! `api_keys` identifies a key by its hash, `caller` reads it from a request's headers, `scopes` and `selector` say
//! what it may do and to which buckets and services. `browser_attacks` refuses cross-site requests and DNS rebinding.
//!
//! **Architecture invariant:** nothing here answers a request. Each protocol turns these values into its own errors.

mod api_keys;
mod browser_attacks;
mod caller;
mod scopes;
mod selector;

pub use api_keys::{ApiKey, ApiKeys};
pub use browser_attacks::{Hosts, is_same_origin};
pub use caller::{Caller, DRIPFEED_KEY};
pub use scopes::{Define, Operate, Permission, Read, Scope, Submit};
pub use selector::{BucketSet, Selector, ServiceSet};
