//! Limits: how much may pass in what time, for whom. One model serves admission to a bucket, the check API, a bucket's
//! pace, and any HTTP service behind a [`LimitLayer`]:
//!
//! ```no_run
//! use dripfeed_limit::{Identity, LimitLayer, Limiter, load};
//! use dripfeed_store::{Durability, RedisSettings, Store};
//! use http::{Request, Response};
//! use tower::{Layer, service_fn};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let redis = RedisSettings::new("redis://127.0.0.1:6379".parse()?, "shop", Durability::Process);
//! let store = Store::connect(&redis).await?;
//! let policies = load::yaml(
//!     "
//! policies:
//!   - id: put-product
//!     match: { methods: [PUT], path: '/v1/organizations/{org}/product/{id}' }
//!     key: [tenant, endpoint]
//!     tiers:
//!       - { kind: bucket, rate: 10/s, burst: 20 }
//!       - { kind: fixed, rate: 10000/day }
//!     message: retry-with-exponential-backoff
//! ",
//! )?;
//! let limiter = Limiter::new(store, "shop", policies)?;
//! let limit = LimitLayer::new(limiter)?.identify(|head| Identity {
//!     caller: head.headers.get("x-api-key").and_then(|key| key.to_str().ok()).map(str::to_owned),
//!     ..Identity::default()
//! });
//! let service = limit.layer(service_fn(|_: Request<String>| async {
//!     Ok::<_, std::convert::Infallible>(Response::new("done".to_owned()))
//! }));
//! # drop(service);
//! # Ok(())
//! # }
//! ```
//!
//! A decision is one script call in Redis, whatever the number of policies and tiers, and all or nothing: a refused
//! request is charged nowhere. Time is the Redis clock in whole µs. What each kind of tier does is in `kinds/`, a
//! file each; scripts of others decide in one go with what else they do by joining [`lua::FRAGMENTS`] and packing a
//! [`Plan`].
//!
//! **Architecture invariant:** a policy, a tier or a match that exists was checked; what it asks for is enforced where
//! it is used, or refused there by name.

mod decide;
mod error;
mod kinds;
mod layer;
mod limiter;
pub mod load;
mod local;
pub mod lua;
mod policy;
pub mod quota;
pub mod ratelimit_headers;
mod registry;
mod replica;
#[cfg(test)]
mod tests;

pub use decide::combined::CombinedDecision;
pub use decide::counts::VerdictCounts;
pub use decide::decision::{Decision, PolicyVerdict, TierVerdict};
pub use decide::key_index::KeyIndex;
pub use decide::minutes::{VerdictHistory, VerdictSlot};
pub use decide::plan::Plan;
pub use decide::wait::Wait;
pub use error::LimitError;
pub use layer::{Identity, LimitLayer, Limited};
pub use limiter::Limiter;
pub use load::{LoadError, LoadFault};
pub use policy::calendar::{BadCalendar, Calendar, Unit};
pub use policy::consistency::{Consistency, OnStoreError};
pub use policy::cost::Cost;
pub use policy::keys::ScopeKeys;
pub use policy::matching::{BadMatch, Match, Template};
pub use policy::policies::{DuplicateId, Policies};
pub use policy::request::Request;
pub use policy::scope::{BadKeyPart, KeyPart, subscriber};
pub use policy::tier::{Align, BadTier, Tier, TierKind};
pub use policy::{BadPolicy, BadPolicyId, Mode, Policy, PolicyFault, PolicyId, PolicySettings};
pub use registry::{BadRules, BadServiceName, RegistryError, Rules, ServiceName, Services};
