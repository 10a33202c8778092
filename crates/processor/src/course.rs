//! What the journeys through one lane have in common: where they go, what counts them, and when they must end.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_bucket::Bucket;
use tokio_util::sync::CancellationToken;

use crate::connector::{Connector, HttpClient};
use crate::metrics::LaneMetrics;
use crate::upstream::Upstream;

pub(crate) struct Course {
    bucket: Bucket,
    route: ArcSwap<Route>,
    metrics: LaneMetrics,
    stop: CancellationToken,
    /// The drain is over.
    out_of_time: CancellationToken,
}

/// An upstream with the connections to it.
pub(crate) struct Route {
    upstream: Upstream,
    client: HttpClient,
}

impl Route {
    pub(crate) fn new(connector: &Connector, upstream: Upstream) -> Self {
        Self { client: connector.client(&upstream), upstream }
    }

    pub(crate) const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub(crate) const fn client(&self) -> &HttpClient {
        &self.client
    }
}

impl Course {
    pub(crate) fn new(bucket: Bucket, route: Route, metrics: LaneMetrics) -> Self {
        let (stop, out_of_time) = (CancellationToken::new(), CancellationToken::new());
        Self { bucket, route: ArcSwap::from_pointee(route), metrics, stop, out_of_time }
    }

    pub(crate) const fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    pub(crate) const fn metrics(&self) -> &LaneMetrics {
        &self.metrics
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

    /// What is still under way is given back.
    pub(crate) fn end(&self) {
        self.out_of_time.cancel();
    }

    pub(crate) async fn out_of_time(&self) {
        self.out_of_time.cancelled().await;
    }
}
