use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use dripfeed_auth::{ApiKey, ApiKeys, BucketSet, Hosts, Scope, ServiceSet};
use dripfeed_bucket::{Bucket, BucketError, Buckets};
use dripfeed_grpc::proto::rate_limiter_client::RateLimiterClient;
use dripfeed_grpc::{GrpcSettings, NewBuckets, router};
use dripfeed_http::{ConnectionLimits, Listener, Tls, serve};
use dripfeed_limit::{Rules, Services};
use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

/// Timeout of any wait in a test.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A bucket that was created at another intake.
struct CreatedElsewhere {
    bucket: Bucket,
    here: Arc<Buckets>,
}

impl NewBuckets for CreatedElsewhere {
    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>> {
        async {
            self.here.change(std::slice::from_ref(&self.bucket), &[]);
            Ok(())
        }
        .boxed()
    }

    fn is_sealed(&self, _bucket: &str) -> bool {
        false
    }
}

/// Removed with the test.
pub struct Harness {
    pub redis: PrivateServer,
    pub services: Services,
    /// One bucket, `b`. Another one, `new`, was created elsewhere.
    pub buckets: Arc<Buckets>,
    pub keys: Arc<ApiKeys>,
    pub address: SocketAddr,
    /// What answers there.
    pub router: Router,
    pub stop: CancellationToken,
    pub serving: JoinHandle<io::Result<()>>,
    _folder: TempDir,
}

impl Harness {
    pub async fn start() -> Self {
        Self::with(Vec::new(), None).await
    }

    pub async fn with(keys: Vec<ApiKey>, tls: Option<Tls>) -> Self {
        Self::listening(keys, tls, PATIENCE).await
    }

    /// Silent connections are closed after so long.
    pub async fn listening(keys: Vec<ApiKey>, tls: Option<Tls>, head_timeout: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let redis = PrivateServer::start(folder.path(), ServerOptions::default()).await.unwrap();
        let settings = RedisSettings::new(redis.address(), "dripfeed", Durability::Everysec);
        let store = Store::connect(&settings).await.unwrap();
        let buckets = Arc::new(Buckets::new([Bucket::new(store.clone(), buckets::settings("b"))]));
        let new = Bucket::new(store.clone(), buckets::settings("new"));
        let new = Arc::new(CreatedElsewhere { bucket: new, here: Arc::clone(&buckets) });
        let keys = Arc::new(ApiKeys::new(keys).with_registry(store.clone()));
        let services = Services::open_with_timeout(store, PATIENCE).await;
        let stop = CancellationToken::new();
        let settings = GrpcSettings { timeout: PATIENCE, x_ratelimit_headers: true, hosts: Hosts::default() };
        let router = router(services.clone(), Arc::clone(&buckets), new, Arc::clone(&keys), settings, stop.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = ConnectionLimits {
            most: 10,
            most_per_address: 10,
            head_timeout,
            idle_timeout: PATIENCE,
            stall_timeout: PATIENCE,
            drain: PATIENCE,
        };
        let serving = tokio::spawn(serve(Listener::http2(listener, tls), router.clone(), limits, stop.clone()));
        Self { redis, services, buckets, keys, address, router, stop, serving, _folder: folder }
    }

    pub async fn channel(&self) -> Channel {
        Endpoint::from_shared(format!("http://{}", self.address)).unwrap().connect().await.unwrap()
    }

    pub async fn limiter(&self) -> RateLimiterClient<Channel> {
        RateLimiterClient::new(self.channel().await)
    }

    pub async fn envoy(&self) -> RateLimitServiceClient<Channel> {
        RateLimitServiceClient::new(self.channel().await)
    }

    /// Registers the service `shop`.
    pub async fn register(&self, rules: Value) {
        self.services.put(&"shop".parse().unwrap(), &Rules::of(rules).unwrap(), None).await.unwrap();
    }
}

/// A key whose secret is its id, for the service `shop`.
pub fn key(id: &str, scopes: &[Scope]) -> ApiKey {
    ApiKey {
        id: id.to_owned(),
        sha256: Sha256::digest(id).into(),
        scopes: scopes.to_vec(),
        buckets: BucketSet::All,
        services: ServiceSet::Named(BTreeSet::from(["shop".parse().unwrap()])),
        priority: dripfeed_job::Priority::Normal,
    }
}

pub fn with_key<T>(id: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {id}").parse().unwrap());
    request
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(answer: Result<Response<T>, Status>, code: Code) -> String {
    let status = answer.unwrap_err();
    assert_eq!(status.code(), code, "{status}");
    status.message().to_owned()
}
