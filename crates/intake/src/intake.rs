//! The state shared by all handlers.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use dripfeed_auth::{ApiKeys, BodyBudget, Caller, CallerTurns, LOOKUPS, LimitedCaller, SUBMISSIONS, Turn, WaitLimit};
use dripfeed_bucket::{Bucket, BucketError, Buckets, INSTALLATION};
use dripfeed_http::Health;
use dripfeed_limit::Services;
use dripfeed_trace::Tracer;
use tokio::sync::Mutex;
use utoipa::openapi::OpenApi;

use crate::buckets::define::definitions::Definitions;
use crate::buckets::recent::RecentStates;
use crate::installation::redis_servers::RedisServers;
use crate::metrics::IntakeMetrics;
use crate::metrics::MetricsExporter;
use crate::openapi::description::Description;
use crate::problem::Problem;
use crate::readings::Readings;
use crate::settings::IntakeSettings;

/// The HTTP API. Cheap to clone.
#[derive(Clone)]
pub struct Intake(Arc<IntakeState>, Option<Tracer>);

struct IntakeState {
    settings: IntakeSettings,
    keys: Arc<ApiKeys>,
    buckets: Arc<Buckets>,
    services: Services,
    metrics: IntakeMetrics,
    health: Health,
    exporter: MetricsExporter,
    body_budget: BodyBudget,
    submissions: CallerTurns,
    lookups: CallerTurns,
    waits: WaitLimit,
    streams: WaitLimit,
    readings: Readings,
    recent_states: RecentStates,
    redis: RedisServers,
    /// Unset if no buckets can be created over the API.
    definitions: OnceLock<Arc<dyn Definitions>>,
    /// Locked during the examination of a bucket, because each reads all jobs of the bucket.
    examining: Mutex<()>,
    description: Description,
}

impl Intake {
    #[must_use]
    pub fn new(
        settings: IntakeSettings,
        keys: Arc<ApiKeys>,
        buckets: Arc<Buckets>,
        services: Services,
        metrics: IntakeMetrics,
        exporter: MetricsExporter,
        redis: RedisServers,
    ) -> Self {
        let body_budget = BodyBudget::new(settings.max_bodies, settings.max_body);
        let waits = WaitLimit::new(settings.max_waits, settings.max_waits_per_caller);
        let streams = WaitLimit::new(settings.max_event_streams, settings.max_event_streams_per_caller);
        let readings = Readings::new(Arc::clone(&buckets));
        let state = Arc::new(IntakeState {
            settings,
            keys,
            buckets,
            services,
            metrics,
            health: exporter.health().clone(),
            exporter,
            body_budget,
            submissions: CallerTurns::new(SUBMISSIONS),
            lookups: CallerTurns::new(LOOKUPS),
            waits,
            streams,
            readings,
            recent_states: RecentStates::default(),
            redis,
            definitions: OnceLock::new(),
            examining: Mutex::default(),
            description: Description::default(),
        });
        Self(state, None)
    }

    /// Exports spans of its submissions, if there is a tracer.
    #[must_use]
    pub fn traced(self, tracer: Option<Tracer>) -> Self {
        Self(self.0, tracer)
    }

    pub(crate) const fn tracer(&self) -> Option<&Tracer> {
        self.1.as_ref()
    }

    /// Enables buckets created over the API.
    pub fn follow(&self, definitions: Arc<dyn Definitions>) {
        // Fails if they are set already.
        let _ = self.0.definitions.set(definitions);
    }

    pub(crate) fn definitions(&self) -> Option<Arc<dyn Definitions>> {
        self.0.definitions.get().cloned()
    }

    /// Adds the description of more routes to that of the API, before the first request.
    pub fn describe(&self, added: OpenApi) {
        self.0.description.add(added);
    }

    pub(crate) fn description(&self) -> &Description {
        &self.0.description
    }

    pub(crate) fn settings(&self) -> &IntakeSettings {
        &self.0.settings
    }

    pub(crate) fn keys(&self) -> &ApiKeys {
        &self.0.keys
    }

    pub(crate) fn buckets(&self) -> &Arc<Buckets> {
        &self.0.buckets
    }

    pub(crate) fn services(&self) -> &Services {
        &self.0.services
    }

    pub fn metrics(&self) -> &IntakeMetrics {
        &self.0.metrics
    }

    pub(crate) fn body_budget(&self) -> &BodyBudget {
        &self.0.body_budget
    }

    pub(crate) fn submissions(&self) -> &CallerTurns {
        &self.0.submissions
    }

    /// Waits for the caller's turn, and runs a lookup of stored jobs in it.
    ///
    /// # Errors
    /// As `work`.
    pub(crate) async fn in_turn<T, W>(
        &self,
        caller: LimitedCaller,
        bucket: &Bucket,
        work: impl FnOnce(Bucket) -> W,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, BucketError>> + Send + 'static,
    {
        Ok(self.0.lookups.run(caller, work(bucket.clone())).await??)
    }

    /// Waits for the turn of a caller whose request reads more from Redis than the state of one job or bucket. Work
    /// that must have the turn to its end, even if the client disconnects, should be run with [`Turn::run`].
    pub(crate) async fn lookup_turn(&self, caller: &Caller, address: Option<IpAddr>) -> Turn {
        self.0.lookups.take_one(LimitedCaller::new(caller.id(), address)).await
    }

    pub(crate) fn waits(&self) -> &WaitLimit {
        &self.0.waits
    }

    pub(crate) fn streams(&self) -> &WaitLimit {
        &self.0.streams
    }

    pub(crate) fn readings(&self) -> &Readings {
        &self.0.readings
    }

    pub(crate) fn recent_states(&self) -> &RecentStates {
        &self.0.recent_states
    }

    pub(crate) fn redis(&self) -> &RedisServers {
        &self.0.redis
    }

    pub(crate) fn examining(&self) -> &Mutex<()> {
        &self.0.examining
    }

    /// The maximum memory that all buckets may use in Redis, in bytes, with those that may be created over the API.
    pub(crate) fn most_memory(&self) -> u64 {
        let (definitions, buckets) = (self.definitions(), self.buckets().all());
        let is_configured = |name: &str| definitions.as_ref().is_none_or(|known| known.is_configured(name));
        let (mut configured, mut defined) = (INSTALLATION, 0_u64);
        for bucket in buckets.values() {
            let sum = if is_configured(bucket.name().as_str()) { &mut configured } else { &mut defined };
            *sum = sum.saturating_add(bucket.settings().most_memory());
        }
        let creatable = definitions.as_ref().filter(|known| known.is_on()).map_or(0, |known| known.bounds().memory());
        configured.saturating_add(defined.max(creatable))
    }

    pub(crate) fn exporter(&self) -> &MetricsExporter {
        &self.0.exporter
    }

    pub(crate) fn health(&self) -> &Health {
        &self.0.health
    }
}
