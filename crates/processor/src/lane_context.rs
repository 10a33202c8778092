//! The state that a lane shares with its attempts: upstream, metrics, and shutdown signals.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_bucket::Bucket;
use dripfeed_outbound::HttpClient;
use dripfeed_store::LogThrottle;
use dripfeed_trace::Tracer;
use tokio_util::sync::CancellationToken;

use crate::attempts::Slots;
use crate::local_shortage::ShortageBackoff;
use crate::metrics::LaneMetrics;
use crate::standby_state::StandbyState;
use crate::upstream::Upstream;
use crate::upstream::connector::Connector;

/// Maximum log lines per second of each kind, as all jobs of a bucket may fail in the same way.
const JOB_LOG_LINES: u32 = 10;

pub(crate) struct LaneContext {
    bucket: Bucket,
    route: ArcSwap<Route>,
    metrics: LaneMetrics,
    slots: Arc<Slots>,
    shortage: ShortageBackoff,
    standby: StandbyState,
    tracer: Option<Tracer>,
    dead_letter_log: LogThrottle,
    unrecorded_log: LogThrottle,
    stop: CancellationToken,
    /// Cancelled when the drain time is over.
    abort: CancellationToken,
}

/// An upstream with the connections to it.
pub(crate) struct Route {
    upstream: Upstream,
    client: Arc<HttpClient>,
}

impl Route {
    pub(crate) fn new(connector: &Connector, upstream: Upstream) -> Self {
        Self { client: connector.client(&upstream), upstream }
    }

    pub(crate) const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub(crate) fn client(&self) -> &HttpClient {
        &self.client
    }
}

impl LaneContext {
    pub(crate) fn new(
        bucket: Bucket,
        route: Route,
        metrics: LaneMetrics,
        slots: Arc<Slots>,
        tracer: Option<Tracer>,
    ) -> Self {
        let (stop, abort) = (CancellationToken::new(), CancellationToken::new());
        let shortage = ShortageBackoff::new(bucket.name().clone());
        let standby = StandbyState::default();
        let route = ArcSwap::from_pointee(route);
        let [dead_letter_log, unrecorded_log] = [LogThrottle::of(JOB_LOG_LINES), LogThrottle::of(JOB_LOG_LINES)];
        Self { bucket, route, metrics, slots, shortage, standby, tracer, dead_letter_log, unrecorded_log, stop, abort }
    }

    pub(crate) const fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    pub(crate) const fn metrics(&self) -> &LaneMetrics {
        &self.metrics
    }

    pub(crate) const fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    pub(crate) const fn shortage(&self) -> &ShortageBackoff {
        &self.shortage
    }

    pub(crate) const fn standby(&self) -> &StandbyState {
        &self.standby
    }

    /// `None` if no spans are exported.
    pub(crate) const fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    /// Throttles log lines about dead-lettered jobs.
    pub(crate) const fn dead_letter_log(&self) -> &LogThrottle {
        &self.dead_letter_log
    }

    /// Throttles log lines about attempts whose result couldn't be recorded.
    pub(crate) const fn unrecorded_log(&self) -> &LogThrottle {
        &self.unrecorded_log
    }

    pub(crate) fn route(&self) -> Arc<Route> {
        self.route.load_full()
    }

    /// Changes the upstream of new calls. Running calls keep theirs.
    pub(crate) fn reroute(&self, route: Route) {
        self.route.store(Arc::new(route));
    }

    /// Stops claiming and calling jobs. Running calls go on.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(crate) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Aborts running calls; their attempts requeue the jobs.
    pub(crate) fn abort_attempts(&self) {
        self.abort.cancel();
    }

    pub(crate) async fn attempts_aborted(&self) {
        self.abort.cancelled().await;
    }
}
