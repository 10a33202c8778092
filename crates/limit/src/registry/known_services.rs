//! The services that this process knows, each with its limiter.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use dripfeed_store::Store;
use futures::future::join_all;
use serde_json::Value as Json;

use super::error::RegistryError;
use super::name::ServiceName;
use super::rules::Rules;
use crate::decide::counts::VerdictCounts;
use crate::limiter::Limiter;
use crate::policy::PolicyId;

/// Changed only while the registry's heartbeat is locked.
#[derive(Debug)]
pub(super) struct KnownServices {
    /// `None` until they have been read from Redis.
    services: ArcSwapOption<HashMap<ServiceName, Service>>,
    intakes: AtomicU64,
    /// Timeout of Redis in decisions.
    timeout: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) rules: Arc<Rules>,
    pub(super) limiter: Limiter,
}

impl KnownServices {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { services: ArcSwapOption::empty(), intakes: AtomicU64::new(0), timeout }
    }

    pub(super) fn find(&self, name: &ServiceName) -> Result<Option<Service>, RegistryError> {
        let services = self.services.load();
        Ok(services.as_ref().ok_or(RegistryError::Unread)?.get(name).cloned())
    }

    /// Replaces all services by those of `rules`.
    pub(super) fn replace(&self, store: &Store, rules: HashMap<String, String>) {
        let before = self.services.load_full();
        let mut now = HashMap::with_capacity(rules.len());
        for (name, text) in rules {
            let Ok(name) = name.parse::<ServiceName>() else { continue };
            let old = before.as_ref().and_then(|before| before.get(&name));
            let changed = old.is_none_or(|old| old.rules.text != text);
            let service = match changed.then(|| read(&name, &text)).flatten() {
                Some(rules) => self.apply(store, &name, old, rules),
                // Unchanged, or rules that only another version of this program can parse, which are ignored.
                None => old.cloned(),
            };
            now.extend(service.map(|service| (name, service)));
        }
        for (name, service) in before.iter().flat_map(|before| before.iter()) {
            if !now.contains_key(name) {
                retire(service.limiter.clone());
            }
        }
        self.services.store(Some(Arc::new(now)));
    }

    /// Applies new rules to the service's limiter, which keeps its counters, or creates a limiter.
    fn apply(&self, store: &Store, name: &ServiceName, old: Option<&Service>, rules: Rules) -> Option<Service> {
        let policies = rules.policies.clone();
        let limiter = match old {
            Some(old) => old.limiter.replace(policies).map(|()| old.limiter.clone()),
            None => Limiter::with_timeout(store.clone(), &name.tag(), policies, self.timeout),
        };
        let limiter =
            limiter.inspect_err(|error| tracing::error!(service = %name, %error, "invalid rules; not applied")).ok()?;
        limiter.set_replicas(self.intakes.load(Ordering::Relaxed));
        Some(Service { rules: Arc::new(rules), limiter })
    }

    /// Sets the number of intakes that share the limits.
    pub(super) fn share_with(&self, intakes: u64) {
        if self.intakes.swap(intakes, Ordering::Relaxed) == intakes {
            return;
        }
        for service in self.services.load().iter().flat_map(|services| services.values()) {
            service.limiter.set_replicas(intakes);
        }
    }

    pub(super) fn tally(&self) -> Vec<(ServiceName, BTreeMap<PolicyId, VerdictCounts>)> {
        let services = self.services.load();
        let tallies = services.iter().flat_map(|services| services.iter());
        tallies.map(|(name, service)| (name.clone(), service.limiter.tally())).collect()
    }

    pub(super) async fn close(&self) {
        let limiters: Vec<Limiter> = match self.services.load().as_ref() {
            Some(services) => services.values().map(|service| service.limiter.clone()).collect(),
            None => Vec::new(),
        };
        join_all(limiters.iter().map(refund_all)).await;
    }
}

fn read(name: &ServiceName, text: &str) -> Option<Rules> {
    let rules = serde_json::from_str::<Json>(text).map_err(|error| error.to_string());
    let rules = rules.and_then(|document| Rules::of(document).map_err(|error| error.to_string()));
    let rules = rules.map(|rules| rules.stored_as(text));
    rules
        .inspect_err(|error| tracing::error!(service = %name, error, "rules in Redis can't be parsed; ignoring them"))
        .ok()
}

fn retire(limiter: Limiter) {
    tokio::spawn(async move { refund_all(&limiter).await });
}

async fn refund_all(limiter: &Limiter) {
    if let Err(error) = limiter.close().await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "could not return unused quota; it stays charged until its window ends"
        );
    }
}
