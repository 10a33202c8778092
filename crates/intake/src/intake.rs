//! What every call of the intake reaches.

use std::sync::Arc;

use dripfeed_bucket::Buckets;
use dripfeed_limit::Services;

use crate::body_room::BodyRoom;
use crate::health::Health;
use crate::keys::Keys;
use crate::metrics::IntakeMetrics;
use crate::settings::IntakeSettings;

/// HTTP in: takes submissions, and tells about buckets and jobs. Cheap to clone.
#[derive(Clone)]
pub struct Intake(Arc<Parts>);

struct Parts {
    settings: IntakeSettings,
    keys: Arc<Keys>,
    buckets: Arc<Buckets>,
    services: Services,
    metrics: IntakeMetrics,
    health: Health,
    body_room: BodyRoom,
}

impl Intake {
    #[must_use]
    pub fn new(
        settings: IntakeSettings,
        keys: Arc<Keys>,
        buckets: Arc<Buckets>,
        services: Services,
        metrics: IntakeMetrics,
        health: Health,
    ) -> Self {
        let body_room = BodyRoom::new(settings.max_bodies);
        Self(Arc::new(Parts { settings, keys, buckets, services, metrics, health, body_room }))
    }

    pub(crate) fn settings(&self) -> &IntakeSettings {
        &self.0.settings
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.0.keys
    }

    pub(crate) fn buckets(&self) -> &Buckets {
        &self.0.buckets
    }

    pub(crate) fn services(&self) -> &Services {
        &self.0.services
    }

    pub(crate) fn metrics(&self) -> &IntakeMetrics {
        &self.0.metrics
    }

    pub(crate) fn body_room(&self) -> &BodyRoom {
        &self.0.body_room
    }

    pub(crate) fn health(&self) -> &Health {
        &self.0.health
    }
}
