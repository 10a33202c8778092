//! Authenticates callers by the key in their headers.

use std::net::IpAddr;
use std::sync::Arc;

use dripfeed_job::Priority;
use dripfeed_limit::subscriber;
use http::{HeaderMap, HeaderName, header};

use crate::api_key::ApiKey;
use crate::api_keys::{ApiKeys, Identity};
use crate::key_registry::error::KeyRegistryError;
use crate::key_registry::run_time_key::RunTimeKey;
use crate::scopes::Scope;
use crate::selector::{BucketSet, ServiceSet};

/// The header with the key if `Authorization` is for the upstream.
pub const DRIPFEED_KEY: HeaderName = HeaderName::from_static("dripfeed-key");

/// An authenticated caller.
#[derive(Clone, Debug)]
pub struct Caller {
    /// `None` if no keys are configured, so that everyone may do everything.
    key: Option<Arc<ApiKey>>,
    /// The expiry of the key, in ms of the Redis clock. `None` if it never expires.
    not_after_ms: Option<u64>,
    /// Whether `Authorization` contained the key, and so isn't forwarded to the upstream.
    pub authorization_is_ours: bool,
}

/// The caller to whom concurrency limits and memory shares apply: its key id, or, if no keys are configured, its
/// network (see [`subscriber`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LimitedCaller {
    Key(String),
    Network(Option<IpAddr>),
}

impl LimitedCaller {
    #[must_use]
    pub fn new(caller: Option<&str>, address: Option<IpAddr>) -> Self {
        match caller {
            Some(caller) => Self::Key(caller.to_owned()),
            None => Self::Network(address.map(subscriber)),
        }
    }
}

impl ApiKeys {
    /// Authenticates by `Authorization: Bearer …` or `Dripfeed-Key: …`. Returns `None` if keys are configured, and the
    /// request has no valid one.
    #[must_use]
    pub fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        let (key, authorization_is_ours) = match own_key(headers) {
            Some(key) => (Some(key), false),
            None => (bearer(headers), true),
        };
        let (key, not_after_ms) = match self.identify(key) {
            Identity::Open => return Some(Caller { key: None, not_after_ms: None, authorization_is_ours: false }),
            Identity::Known(key) => (key, None),
            Identity::RunTime(run_time) => (Arc::clone(&run_time.key), run_time.not_after_ms),
            Identity::Unknown => return None,
        };
        Some(Caller { key: Some(key), not_after_ms, authorization_is_ours })
    }

    /// Returns whether the key is unchanged since the caller authenticated, for requests that take long.
    #[must_use]
    pub fn is_current(&self, caller: &Caller) -> bool {
        let Some(key) = &caller.key else { return self.is_empty() };
        match self.identify_hash(&key.sha256) {
            Identity::Known(current) => current == *key,
            Identity::RunTime(current) => current.key == *key && current.not_after_ms == caller.not_after_ms,
            Identity::Open | Identity::Unknown => false,
        }
    }

    /// Like [`ApiKeys::caller`], but looks up an unknown key in Redis, because it may have been created a moment ago.
    /// Concurrent requests share one query, at most 20 a second.
    ///
    /// # Errors
    /// When a call to Redis fails, so that it isn't known whether the key is valid.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<Caller>, KeyRegistryError> {
        let caller = self.caller(headers);
        let has_key = || own_key(headers).or_else(|| bearer(headers)).is_some_and(|key| !key.is_empty());
        if caller.is_some() || !has_key() {
            return Ok(caller);
        }
        // Boxed, as it is rare: that keeps the future of other requests small.
        Box::pin(self.ask()).await?;
        Ok(self.caller(headers))
    }
}

impl Caller {
    /// Returns the id of the key, or `None` if no keys are configured.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.id.as_str())
    }

    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.key.as_ref().is_none_or(|key| key.scopes.contains(&scope))
    }

    #[must_use]
    pub fn may_use(&self, bucket: &str) -> bool {
        self.key.as_ref().is_none_or(|key| key.buckets.matches(bucket))
    }

    #[must_use]
    pub fn may_use_all_buckets(&self) -> bool {
        self.key.as_ref().is_none_or(|key| key.buckets == BucketSet::All)
    }

    /// Returns the highest priority that its jobs may have.
    #[must_use]
    pub fn highest_priority(&self) -> Priority {
        self.key.as_ref().map_or(Priority::High, |key| key.priority)
    }

    /// Returns whether the caller has all permissions.
    #[must_use]
    pub fn may_do_everything(&self) -> bool {
        self.key.as_ref().is_none_or(|key| {
            Scope::ALL.iter().all(|scope| key.scopes.contains(scope))
                && key.buckets == BucketSet::All
                && key.services == ServiceSet::All
                && key.priority == Priority::High
                && self.not_after_ms.is_none()
        })
    }

    /// Returns a permission of `key` that the caller's key doesn't have, or `None` if it has all.
    #[must_use]
    pub fn missing_permission(&self, key: &ApiKey, not_after_ms: Option<u64>) -> Option<String> {
        let own = self.key.as_deref()?;
        let lasts_longer = self.not_after_ms.is_some_and(|own_ms| not_after_ms.is_none_or(|end_ms| end_ms > own_ms));
        if let Some(scope) = key.scopes.iter().find(|scope| !own.scopes.contains(scope)) {
            return Some(format!("the scope `{}`", scope.as_str()));
        }
        if !own.buckets.covers(&key.buckets) {
            return Some("buckets beyond its own".to_owned());
        }
        if !own.services.covers(&key.services) {
            return Some("services beyond its own".to_owned());
        }
        if key.priority > own.priority {
            return Some(format!("the priority `{}`", key.priority));
        }
        lasts_longer.then(|| "an expiry later than its own".to_owned())
    }

    /// Returns whether the key may do no more than the caller's, so that the caller may see and change it.
    #[must_use]
    pub fn covers(&self, key: &RunTimeKey) -> bool {
        self.missing_permission(&key.key, key.not_after_ms).is_none()
    }

    #[must_use]
    pub fn may_use_service(&self, service: &str) -> bool {
        self.key.as_ref().is_none_or(|key| key.services.matches(service))
    }
}

fn own_key(headers: &HeaderMap) -> Option<&[u8]> {
    only_value(headers, DRIPFEED_KEY)
}

/// Returns the value of a header, or, if there are several, an empty one, which isn't a valid key, because a proxy
/// before the intake may have checked another one than we would use.
fn only_value(headers: &HeaderMap, name: HeaderName) -> Option<&[u8]> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_some() { b"" } else { first.as_bytes() })
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = only_value(headers, header::AUTHORIZATION)?;
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii())
}

#[cfg(test)]
mod tests;
