//! Authentication and authorization of callers: API keys, scopes, and protection against browser attacks.
//!
//! `caller` reads a key from the headers of a request, and `api_keys` finds it by its hash. `scopes` and `selector`
//! define what it may do, and in which buckets and services. `key_registry` stores the keys created over the API.
//! `browser_attacks` refuses cross-site requests and DNS rebinding. `shares` limits each caller's use of shared
//! resources.
//!
//! **Architecture invariant:** this crate doesn't respond to requests. Each protocol converts its values into errors.

mod api_key;
mod api_keys;
mod browser_attacks;
mod caller;
mod key_hash;
mod key_id;
mod key_registry;
mod key_table;
mod new_key;
mod scopes;
mod selector;
mod shares;

pub use api_key::ApiKey;
pub use api_keys::ApiKeys;
pub use browser_attacks::{Hosts, is_same_origin};
pub use caller::{Caller, DRIPFEED_KEY, LimitedCaller};
pub use key_hash::{format_hash, hash_of_key, parse_hash};
pub use key_id::check_key_id;
pub use key_registry::KeyRegistry;
pub use key_registry::audit_trail::KeyAuditEntry;
pub use key_registry::delete_key::DeleteKeyResult;
pub use key_registry::error::KeyRegistryError;
pub use key_registry::put_key::{NewKey, PutKeyResult};
pub use key_registry::run_time_key::RunTimeKey;
pub use key_registry::scripts::KEY_FRAGMENTS;
pub use new_key::new_key;
pub use scopes::{ChangeKeys, Define, Operate, Permission, Read, ReadKeys, Scope, Submit};
pub use selector::{BucketSet, Selector, ServiceSet};
pub use shares::body_budget::{BodyBudget, BodyReservation, BodyShare};
pub use shares::turns::{CallerTurns, LOOKUPS, SUBMISSIONS, Turn};
pub use shares::wait_limit::{WaitLimit, WaitPermit};
