//! A processor on separate threads and connections, so that it can be killed at any time.

use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketSettings};
use dripfeed_processor::{Connector, Processor, ProcessorSettings, RootCerts, Upstream, UpstreamSettings};
use dripfeed_store::{RedisSettings, Store};
use http::Method;
use prometheus_client::registry::Registry;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::error::LabError;
use crate::testbed::Testbed;

const LEASE: Duration = Duration::from_secs(3);
const DRAIN: Duration = Duration::from_secs(2);

/// Killed when dropped.
pub(crate) struct Replica(Option<Runtime>);

impl Replica {
    /// Starts a replica, and waits until it is connected.
    pub(crate) async fn start(testbed: &Testbed, bucket: &BucketSettings, upstream: &str) -> Result<Self, LabError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("replica").enable_all().build()?;
        let started = runtime.spawn(run(testbed.settings(), bucket.clone(), upstream.to_owned())).await;
        let replica = Self(Some(runtime));
        started.map_err(|error| LabError::Machine(error.into()))??;
        Ok(replica)
    }

    /// Kills it like SIGKILL: its connections break, and nothing is deregistered.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

async fn run(redis: RedisSettings, bucket: BucketSettings, upstream: String) -> Result<(), LabError> {
    let bucket = Bucket::new(Store::connect(&redis).await?, bucket);
    let upstream = Upstream::new(UpstreamSettings {
        url: upstream,
        method: Method::POST,
        timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(5),
        headers: Vec::new(),
        signing_secrets: Vec::new(),
        allow_private: true,
        root_certs: RootCerts::default(),
        max_answer: 4096,
    })?;
    let settings = ProcessorSettings {
        name: Some("lab".to_owned()),
        lease: LEASE,
        standby_after: LEASE,
        histograms_by_bucket: false,
        drain: DRAIN,
    };
    let processor = Processor::new(settings, Connector::new()?, None, &mut Registry::default());
    tokio::spawn(async move { processor.run(vec![(bucket, upstream)], CancellationToken::new()).await });
    Ok(())
}
