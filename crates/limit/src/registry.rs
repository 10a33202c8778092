//! The rules of services, which are registered at run time and stored in Redis. Each intake knows all rules, and has a
//! limiter for each service.
//!
//! An intake checks for changes every [`PERIOD`], and makes no query for a known service, or one known not to exist.
//! While Redis is unavailable, known rules stay in force; `on_store_error` of each policy decides how.

mod audit;
mod change;
mod delete;
mod error;
mod heartbeat;
mod intakes;
mod keys;
mod known_services;
mod name;
mod put;
mod rules;
mod scripts;

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dripfeed_store::{Store, restart_on_panic};
use tokio::sync::Mutex;

use crate::decide::combined::CombinedDecision;
use crate::decide::counts::VerdictCounts;
use crate::decide::decision::Decision;
use crate::decide::minutes::VerdictHistory;
use crate::limiter::DECISION_TIMEOUT;
use crate::policy::PolicyId;
use crate::policy::request::Request;
use crate::registry::keys::RegistryKeys;

pub use self::audit::RulesAuditEntry;
pub use self::error::RegistryError;
use self::heartbeat::Heartbeat;
use self::known_services::{KnownServices, Service};
pub use self::name::{BadServiceName, ServiceName};
pub use self::rules::{BadRules, Rules};
pub use self::scripts::RULES_FRAGMENTS;

/// With the time to read a change, less than the second after which all intakes must enforce it.
const PERIOD: Duration = Duration::from_millis(400);
const _: () = assert!(PERIOD.as_millis() <= 500);

/// The services and their limiters at one intake. Cheap to clone; clones share their state. Needs a tokio runtime.
#[derive(Clone, Debug)]
pub struct Services(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    keys: RegistryKeys,
    known_services: KnownServices,
    /// Locked while rules are read or changed, so that changes are applied in their order. `None` after `close`.
    heartbeat: Mutex<Option<Heartbeat>>,
}

impl Services {
    /// Reads the registered services, if Redis is available, and registers this intake, so that it shares the limits.
    pub async fn open(store: Store) -> Self {
        Self::open_with_timeout(store, DECISION_TIMEOUT).await
    }

    /// As [`Services::open`], with a timeout of Redis in decisions, as [`crate::Limiter::with_timeout`].
    pub async fn open_with_timeout(store: Store, timeout: Duration) -> Self {
        let (keys, heartbeat) = (RegistryKeys::new(store.prefix()), Mutex::new(Some(Heartbeat::new())));
        let shared = Arc::new(Shared { store, keys, known_services: KnownServices::new(timeout), heartbeat });
        shared.beat().await;
        let weak = Arc::downgrade(&shared);
        tokio::spawn(restart_on_panic("following services", move || keep_beating(weak.clone())));
        Self(shared)
    }

    /// Returns the rules of a service. Returns `None` if it isn't registered.
    ///
    /// # Errors
    /// When nothing could be read from Redis yet.
    pub fn rules(&self, name: &ServiceName) -> Result<Option<Arc<Rules>>, RegistryError> {
        Ok(self.0.known_services.find(name)?.map(|service| service.rules))
    }

    /// As [`Services::rules`], after reading them from Redis, if it is available.
    ///
    /// # Errors
    /// When nothing could be read from Redis yet.
    pub async fn current_rules(&self, name: &ServiceName) -> Result<Option<Arc<Rules>>, RegistryError> {
        self.0.beat().await;
        self.rules(name)
    }

    /// Decides on a request, as [`crate::Limiter::decide`]. Returns `None` if the service isn't registered.
    ///
    /// # Errors
    /// When nothing could be read from Redis yet, and as [`crate::Limiter::decide`].
    pub async fn check(&self, name: &ServiceName, request: &Request<'_>) -> Result<Option<Decision>, RegistryError> {
        match self.0.known_services.find(name)? {
            Some(Service { limiter, .. }) => Ok(Some(limiter.decide(request).await?)),
            None => Ok(None),
        }
    }

    /// Decides on requests as [`crate::Limiter::decide_together`]. Returns `None` if the service isn't registered.
    ///
    /// # Errors
    /// As [`Services::check`].
    pub async fn check_together(
        &self,
        name: &ServiceName,
        requests: &[Request<'_>],
    ) -> Result<Option<CombinedDecision>, RegistryError> {
        match self.0.known_services.find(name)? {
            Some(Service { limiter, .. }) => Ok(Some(limiter.decide_together(requests).await?)),
            None => Ok(None),
        }
    }

    /// Decisions of this intake by service and policy.
    pub fn tally(&self) -> Vec<(ServiceName, BTreeMap<PolicyId, VerdictCounts>)> {
        self.0.known_services.tally()
    }

    /// Returns the decisions of a service at this intake in the last hour, or `None` if it isn't registered.
    ///
    /// # Errors
    /// When nothing could be read from Redis yet.
    pub fn history(&self, name: &ServiceName) -> Result<Option<VerdictHistory>, RegistryError> {
        Ok(self.0.known_services.find(name)?.map(|service| service.limiter.history()))
    }

    /// Returns the latest changes of rules, of all services, the newest first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't respond in time.
    pub async fn audit_trail(&self) -> Result<Vec<RulesAuditEntry>, RegistryError> {
        Ok(audit::entries(&self.0.store, &self.0.keys).await?)
    }

    /// Returns leased quota and unregisters this intake; to be called last at shutdown.
    pub async fn close(&self) {
        if let Some(heartbeat) = self.0.heartbeat.lock().await.take() {
            self.0.known_services.close().await;
            heartbeat.leave(&self.0.store, &self.0.keys).await;
        }
    }
}

impl Shared {
    /// Sends a heartbeat, and applies changes of the rules.
    async fn beat(&self) {
        if let Some(heartbeat) = self.heartbeat.lock().await.as_mut() {
            self.learn(heartbeat).await;
        }
    }

    async fn learn(&self, heartbeat: &mut Heartbeat) {
        match heartbeat.beat(&self.store, &self.keys).await {
            Ok(news) => {
                self.known_services.share_with(news.intakes);
                if let Some(rules) = news.rules {
                    self.known_services.replace(&self.store, rules);
                }
            }
            // The store logs a warning once per outage.
            Err(error) => tracing::debug!(error = &error as &dyn Error, "could not read rules from Redis"),
        }
    }
}

async fn keep_beating(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(PERIOD).await;
        let Some(shared) = shared.upgrade() else { return };
        shared.beat().await;
    }
}
