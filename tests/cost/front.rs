//! An intake in this process, which is asked without a connection.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_auth::{ApiKeys, Hosts};
use dripfeed_bucket::{Bucket, Buckets};
use dripfeed_http::Health;
use dripfeed_intake::metrics::{BucketGauges, IntakeMetrics, LimitMetrics, MetricsExporter};
use dripfeed_intake::{EntryPoint, Intake, IntakeSettings, RedisServers};
use dripfeed_limit::Services;
use dripfeed_store::{Durability, Store};
use dripfeed_trace::Tracer;
use prometheus_client::registry::Registry;

const PATIENCE: Duration = Duration::from_secs(30);

/// Of an intake with this bucket.
pub async fn open(store: &Store, bucket: &Bucket, tracer: Option<Tracer>) -> EntryPoint {
    let buckets = Arc::new(Buckets::new([bucket.clone()]));
    let services = Services::open(store.clone()).await;
    let mut registry = Registry::with_prefix("dripfeed");
    let metrics = IntakeMetrics::register(Arc::clone(&buckets), &mut registry, false);
    let gauges = BucketGauges::register(Arc::clone(&buckets), &mut registry);
    LimitMetrics::register(services.clone(), &mut registry);
    let exporter = MetricsExporter::new(Health::new(store.clone()), gauges, Arc::new(registry));
    let redis = RedisServers::new(store.clone(), Durability::Everysec);
    let keys = Arc::new(ApiKeys::new(Vec::new()));
    Intake::new(settings(), keys, buckets, services, metrics, exporter, redis).traced(tracer).entry_point()
}

fn settings() -> IntakeSettings {
    IntakeSettings {
        max_body: 1 << 20,
        max_bodies: 256 << 20,
        max_connections: 100,
        max_connections_per_address: 1_000_000,
        trusted_proxies: Vec::new(),
        head_timeout: PATIENCE,
        idle_timeout: PATIENCE,
        body_timeout: PATIENCE,
        drain: PATIENCE,
        drain_delay: Duration::ZERO,
        hosts: Hosts::new(&["intake"]).expect("a name"),
        x_ratelimit_headers: false,
        max_batch: 1000,
        max_waits: 100,
        max_waits_per_caller: 100,
        max_event_streams: 100,
        max_event_streams_per_caller: 100,
        redaction: dripfeed_job::redaction::Redaction::default(),
    }
}
