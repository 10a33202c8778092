//! Rate limits over Redis. dripfeed uses them for admission to a bucket, the check API and a bucket's pace; any HTTP
//! service can use them as a [`LimitLayer`]:
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
//! A decision is one script call in Redis, whatever the number of policies and tiers. It is all or nothing: a refused
//! request is charged to no policy. Time is the Redis clock in whole µs. Each kind of tier has its files in `kinds/`.
//! Other scripts can decide together with their own work: they include [`lua::FRAGMENTS`], and have a packed [`Plan`]
//! as argument.
//!
//! **Architecture invariant:** policies, tiers and matches are validated when they are created. Where one is used, it
//! is either enforced completely or refused with an error that names it.

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

pub use decide::clock::Clock as RedisClock;
pub use decide::combined::CombinedDecision;
pub use decide::counts::VerdictCounts;
pub use decide::decision::{Decision, PolicyVerdict, TierVerdict};
pub use decide::key_index::KeyIndex;
pub use decide::minutes::{VerdictHistory, VerdictSlot};
pub use decide::plan::Plan;
pub use decide::wait::Wait;
pub use error::LimitError;
pub use layer::{Identity, LimitLayer, LimitService};
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
pub use registry::{
    BadRules, BadServiceName, RULES_FRAGMENTS, RegistryError, Rules, RulesAuditEntry, ServiceName, Services,
};
