//! KEDA's external scaler: `IsActive`, `StreamIsActive`, `GetMetricSpec` and `GetMetrics`. Its metric is the number of
//! processors for which there is work.

mod active;
mod asked;
pub(crate) mod known_buckets;
mod work;

use std::pin::Pin;

use dripfeed_auth::WaitLimit;
use futures::Stream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use self::active::ActiveStream;
use self::asked::TriggerQuery;
use self::known_buckets::KnownBuckets;
use self::work::Work;
use crate::access::Access;
use crate::external_scaler::external_scaler_server::ExternalScaler;
use crate::external_scaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};

/// The one metric: its target is 1, so its value is the number of processors.
const METRIC: &str = "replicas";
/// Maximum number of open streams, of all callers and of each.
const MOST_STREAMS: usize = 200;
const MOST_STREAMS_OF_ONE: usize = 100;

pub(crate) struct Scaler {
    work: Work,
    streams: WaitLimit,
    /// Ends all streams.
    draining: CancellationToken,
}

impl Scaler {
    pub(crate) fn new(buckets: KnownBuckets, access: Access, draining: CancellationToken) -> Self {
        Self { work: Work::new(buckets, access), streams: WaitLimit::new(MOST_STREAMS, MOST_STREAMS_OF_ONE), draining }
    }
}

#[tonic::async_trait]
impl ExternalScaler for Scaler {
    type StreamIsActiveStream = Pin<Box<dyn Stream<Item = Result<IsActiveResponse, Status>> + Send>>;

    async fn is_active(&self, request: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        let slots = self.work.slots(&TriggerQuery::of(request)?).await?;
        Ok(Response::new(IsActiveResponse { result: slots.calls > 0 }))
    }

    async fn stream_is_active(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        let query = TriggerQuery::of(request)?;
        // Refuses the call at once, not with the first read of the stream.
        let caller = self.work.allows(&query).await?;
        let most = || {
            let detail = format!("too many streams are open: at most {MOST_STREAMS_OF_ONE} of one caller");
            Status::resource_exhausted(detail)
        };
        let permit = self.streams.enter(query.waiter(&caller)).ok_or_else(most)?;
        Ok(Response::new(Box::pin(
            ActiveStream::new(self.work.clone(), query, self.draining.clone(), permit).answers(),
        )))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        self.work.allows(&TriggerQuery::of(request)?).await?;
        let spec = MetricSpec { metric_name: METRIC.to_owned(), target_size: 1 };
        Ok(Response::new(GetMetricSpecResponse { metric_specs: vec![spec] }))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let (metadata, extensions, message) = request.into_parts();
        let query = Request::from_parts(metadata, extensions, message.scaled_object_ref.unwrap_or_default());
        let slots = self.work.slots(&TriggerQuery::of(query)?).await?;
        let value = i64::try_from(slots.replicas).unwrap_or(i64::MAX);
        let value = MetricValue { metric_name: METRIC.to_owned(), metric_value: value };
        Ok(Response::new(GetMetricsResponse { metric_values: vec![value] }))
    }
}
