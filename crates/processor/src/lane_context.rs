//! What the attempts of one lane share: upstream, metrics, and the shutdown deadline.

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

/// Of one kind in a second: all jobs of a bucket may meet the same.
const LINES_OF_JOBS: u32 = 10;

pub(crate) struct LaneContext {
    bucket: Bucket,
    route: ArcSwap<Route>,
    metrics: LaneMetrics,
    slots: Arc<Slots>,
    shortage: ShortageBackoff,
    standby: StandbyState,
    tracer: Option<Tracer>,
    dead_lines: LogThrottle,
    unrecorded_lines: LogThrottle,
    stop: CancellationToken,
    /// The drain is over.
    out_of_time: CancellationToken,
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
        let (stop, out_of_time) = (CancellationToken::new(), CancellationToken::new());
        let shortage = ShortageBackoff::none_yet(bucket.name().clone());
        let standby = StandbyState::default();
        let route = ArcSwap::from_pointee(route);
        let [dead_lines, unrecorded_lines] = [LogThrottle::of(LINES_OF_JOBS), LogThrottle::of(LINES_OF_JOBS)];
        Self {
            bucket,
            route,
            metrics,
            slots,
            shortage,
            standby,
            tracer,
            dead_lines,
            unrecorded_lines,
            stop,
            out_of_time,
        }
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

    /// None: no spans are exported.
    pub(crate) const fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    /// What is logged of jobs that are dead-lettered.
    pub(crate) const fn dead_lines(&self) -> &LogThrottle {
        &self.dead_lines
    }

    /// What is logged of attempts whose result isn't recorded.
    pub(crate) const fn unrecorded_lines(&self) -> &LogThrottle {
        &self.unrecorded_lines
    }

    pub(crate) fn route(&self) -> Arc<Route> {
        self.route.load_full()
    }

    /// Other calls from now on; those under way end as they began.
    pub(crate) fn reroute(&self, route: Route) {
        self.route.store(Arc::new(route));
    }

    /// No job sets out any more.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(crate) async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// What is still under way is returned.
    pub(crate) fn end(&self) {
        self.out_of_time.cancel();
    }

    pub(crate) async fn out_of_time(&self) {
        self.out_of_time.cancelled().await;
    }
}
