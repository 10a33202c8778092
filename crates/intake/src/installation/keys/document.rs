//! The request body that creates or changes a key.

use dripfeed_auth::{ApiKey, BucketSet, Scope, Selector, ServiceSet, hash_of_key, new_key, parse_hash};
use dripfeed_job::Priority;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::request::time;

#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKey)]
pub(crate) struct KeyDocument {
    /// At least one of `submit`, `read`, `inspect`, `operate`, `define` and `keys`; only scopes of the caller's key.
    #[schema(value_type = Vec<String>, min_items = 1)]
    scopes: Vec<Scope>,
    /// Names, patterns such as `team-a-*`, or `*` for all; only buckets of the caller's key.
    #[schema(min_items = 1)]
    buckets: Vec<String>,
    /// Services, in the same form as `buckets`. By default services named as the buckets.
    #[schema(min_items = 1)]
    services: Option<Vec<String>>,
    /// The highest priority of its jobs: `high`, `normal` (the default) or `low`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    priority: Priority,
    /// Expiry by the Redis clock (RFC 3339). Omitted, or null: never.
    #[serde(default, deserialize_with = "time::deserialize")]
    #[schema(value_type = Option<String>, format = DateTime)]
    not_after: Option<u64>,
    /// The SHA-256 of the key, 64 hexadecimal digits. If omitted, an existing key is kept; for a new one, a key is
    /// generated and returned only once.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    sha256: Option<String>,
}

/// The key to store.
pub(super) struct WantedKey {
    pub(super) key: ApiKey,
    pub(super) not_after_ms: Option<u64>,
    /// The secret key as text, if it was generated now.
    pub(super) made: Option<String>,
}

impl KeyDocument {
    /// `before` is the hash of the existing key.
    pub(super) fn wanted(&self, id: &str, before: Option<[u8; 32]>, now_ms: u64) -> Result<WantedKey, Problem> {
        if self.scopes.is_empty() {
            return Err(Problem::bad_member("scopes", "scopes: empty; give at least one"));
        }
        if self.not_after.is_some_and(|end_ms| end_ms <= now_ms) {
            return Err(Problem::bad_member("not_after", "not_after: is in the past"));
        }
        let buckets: BucketSet = names("buckets", &self.buckets)?;
        let services = match &self.services {
            Some(services) => names("services", services)?,
            None => ServiceSet::from(buckets.clone()),
        };
        let (sha256, made) = self.secret(before)?;
        // Without duplicates, in the order of `Scope::ALL`.
        let scopes = Scope::ALL.into_iter().filter(|scope| self.scopes.contains(scope)).collect();
        let key = ApiKey { id: id.to_owned(), sha256, scopes, buckets, services, priority: self.priority };
        Ok(WantedKey { key, not_after_ms: self.not_after, made })
    }

    fn secret(&self, before: Option<[u8; 32]>) -> Result<([u8; 32], Option<String>), Problem> {
        if let Some(digits) = &self.sha256 {
            let hash = parse_hash(digits);
            let hash = hash.map_err(|reason| Problem::bad_member("sha256", &format!("sha256: {reason}")))?;
            return Ok((hash, None));
        }
        if let Some(hash) = before {
            return Ok((hash, None));
        }
        let made = new_key().map_err(|error| {
            tracing::error!(%error, "the operating system's random number generator failed");
            Problem::internal()
        })?;
        Ok((hash_of_key(made.as_bytes()), Some(made)))
    }
}

fn names<N>(member: &str, texts: &[String]) -> Result<Selector<N>, Problem>
where
    N: std::str::FromStr<Err: std::fmt::Display> + Ord,
{
    if texts.is_empty() {
        return Err(Problem::bad_member(member, &format!("{member}: empty; use names, or [\"*\"] for all")));
    }
    Selector::parse(texts).map_err(|(place, reason)| {
        let place = format!("{member}[{place}]");
        Problem::bad_member(&place, &format!("{place}: {reason}"))
    })
}
