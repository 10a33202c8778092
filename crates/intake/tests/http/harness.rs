use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use dripfeed_auth::{ApiKey, ApiKeys, Hosts};
use dripfeed_bucket::{
    Bucket, BucketSettings, Buckets, ClaimedJob, Consumer, Feedback, JoinKind, Replica, Settlement, Take,
};
use dripfeed_http::Health;
use dripfeed_intake::metrics::{BucketGauges, IntakeMetrics, LimitMetrics, MetricsExporter};
use dripfeed_intake::{EntryPoint, Intake, IntakeSettings, RedisServers};
use dripfeed_job::Job;
use dripfeed_limit::Services;
use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

/// Timeout of any wait in a test: far more than it takes, so that a machine that stands still changes nothing.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Removed with the test.
pub struct Harness {
    pub redis: PrivateServer,
    pub store: Store,
    pub buckets: Arc<Buckets>,
    pub keys: Arc<ApiKeys>,
    pub health: Health,
    pub intake: Intake,
    _folder: TempDir,
}

/// A complete response.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Asserts that this is the refusal, as an RFC 9457 problem.
    #[track_caller]
    pub fn refuses(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("/problems/{code}"));
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
        problem
    }
}

pub async fn ask(front: EntryPoint, request: Request<Body>) -> Answer {
    let (parts, body) = front.oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status, headers: parts.headers, body }
}

/// `GET /path` or `POST /path`, with headers.
pub fn request(line: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let (method, path) = line.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(path);
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(body.into()).unwrap()
}

/// For a Redis that keeps its latest commands.
pub const LOG_ALL: [&str; 4] = ["--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000"];

impl Harness {
    /// Buckets `b`, of capacity 10, and `other`; no keys.
    pub async fn start() -> Self {
        Self::with(vec![settings("b"), settings("other")], Vec::new(), &[]).await
    }

    pub async fn with(buckets: Vec<BucketSettings>, keys: Vec<ApiKey>, redis: &[&str]) -> Self {
        Self::waiting(PATIENCE, buckets, keys, redis).await
    }

    /// Calls of Redis fail after so long.
    pub async fn waiting(
        response_timeout: Duration,
        buckets: Vec<BucketSettings>,
        keys: Vec<ApiKey>,
        redis: &[&str],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments = redis.iter().map(|argument| (*argument).to_owned()).collect();
        let options = ServerOptions { arguments, ..ServerOptions::default() };
        let redis = PrivateServer::start(folder.path(), options).await.unwrap();
        let store = connect(&redis, response_timeout).await;
        let buckets = buckets.into_iter().map(|settings| Bucket::new(store.clone(), settings));
        let buckets = Arc::new(Buckets::new(buckets));
        let keys = Arc::new(ApiKeys::new(keys));
        let (intake, health) = assemble(intake_settings(), &store, &keys, &buckets).await;
        Self { redis, store, buckets, keys, health, intake, _folder: folder }
    }

    /// Another intake over the same buckets.
    pub async fn intake(&self, settings: IntakeSettings) -> (Intake, Health) {
        assemble(settings, &self.store, &self.keys, &self.buckets).await
    }

    /// Another connection: one whose call Redis keeps waiting has no other meanwhile.
    pub async fn connect(&self) -> Store {
        connect(&self.redis, PATIENCE).await
    }

    pub fn bucket(&self, name: &str) -> Bucket {
        self.buckets.get(name).unwrap()
    }

    pub async fn ask(&self, line: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        ask(self.intake.entry_point(), request(line, headers, body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[], Body::empty()).await
    }

    pub async fn post(&self, path: &str) -> Answer {
        self.ask(&format!("POST {path}"), &[], Body::empty()).await
    }

    /// Submits a job and returns its id.
    pub async fn submit(&self, body: &str) -> String {
        self.submit_with(&[], body).await
    }

    pub async fn submit_with(&self, headers: &[(&str, &str)], body: &str) -> String {
        let answer = self.ask("POST /v1/buckets/b/jobs", headers, body.to_owned()).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// The scripts that Redis has run over the bucket `b`, by their hashes, the latest first. None of an intake itself,
    /// which has periodic ones. Redis is started with [`LOG_ALL`].
    pub async fn scripts_of_bucket(&self) -> Vec<String> {
        type Logged = (u64, u64, u64, Vec<String>, String, String);
        let logged: Vec<Logged> = self.store.command(redis::cmd("SLOWLOG").arg("GET").arg(1000)).await.unwrap();
        let of_bucket = |words: &Vec<String>| words[0] == "EVALSHA" && words[3].starts_with("dripfeed:{b}:");
        let words = logged.into_iter().map(|(.., words, _, _)| words).filter(of_bucket);
        words.map(|mut words| words.swap_remove(1)).collect()
    }

    /// The length of the stream.
    pub async fn length(&self, bucket: &str) -> u64 {
        let mut xlen = redis::cmd("XLEN");
        xlen.arg(format!("dripfeed:{{{bucket}}}:jobs"));
        self.store.command(&xlen).await.unwrap()
    }

    /// The number of jobs with a registered wait.
    pub async fn registered(&self, bucket: &str) -> u64 {
        let mut zcard = redis::cmd("ZCARD");
        zcard.arg(format!("dripfeed:{{{bucket}}}:notices"));
        self.store.command(&zcard).await.unwrap()
    }

    /// A replica that claims jobs of `b`.
    pub async fn replica(&self) -> Replica {
        self.bucket("b").join(Consumer::new("east"), Duration::from_secs(30), JoinKind::First).await.unwrap()
    }

    /// Claims the next job of `b`.
    pub async fn take(&self, replica: &Replica) -> ClaimedJob {
        let take = tokio::time::timeout(PATIENCE, async {
            loop {
                match replica.take(1).await.unwrap() {
                    Take::Jobs(jobs, _) => return jobs.into_iter().next().unwrap(),
                    Take::Idle(idle) => replica.wait(&idle).await,
                    Take::Fenced => panic!("fenced"),
                }
            }
        });
        take.await.expect("a job can be taken")
    }

    /// Claims and settles the next job of `b`, and returns it.
    pub async fn settle(&self, settlement: Settlement) -> Job {
        self.settle_with(settlement, Feedback::default()).await
    }

    pub async fn settle_with(&self, settlement: Settlement, feedback: Feedback) -> Job {
        let replica = self.replica().await;
        let taken = self.take(&replica).await;
        let job = taken.job.unwrap();
        replica.settle_with(taken.claim, settlement, feedback).await.unwrap();
        replica.leave().await.unwrap();
        job
    }
}

async fn connect(redis: &PrivateServer, response_timeout: Duration) -> Store {
    let settings = RedisSettings::new(redis.address(), "dripfeed", Durability::Everysec);
    Store::connect(&RedisSettings { response_timeout, ..settings }).await.unwrap()
}

async fn assemble(
    settings: IntakeSettings,
    store: &Store,
    keys: &Arc<ApiKeys>,
    buckets: &Arc<Buckets>,
) -> (Intake, Health) {
    let services = Services::open_with_timeout(store.clone(), PATIENCE).await;
    let mut registry = Registry::with_prefix("dripfeed");
    let metrics = IntakeMetrics::register(Arc::clone(buckets), &mut registry, true);
    let gauges = BucketGauges::register(Arc::clone(buckets), &mut registry);
    LimitMetrics::register(services.clone(), &mut registry);
    let health = Health::new(store.clone());
    let exporter = MetricsExporter::new(health.clone(), gauges, Arc::new(registry));
    let redis = RedisServers::new(store.clone(), Durability::Everysec);
    let intake = Intake::new(settings, Arc::clone(keys), Arc::clone(buckets), services, metrics, exporter, redis);
    (intake, health)
}

pub fn delivered(status: u16, content_type: &str, answer: &[u8]) -> Settlement {
    let answer = dripfeed_job::outcome::AnswerBody::new(Some(content_type.to_owned()), answer, false);
    Settlement::Complete { status, answer: Some(answer) }
}

pub fn buried(reason: &str, status: u16) -> Settlement {
    Settlement::Bury { reason: reason.to_owned(), status: Some(status), answer: None, called: true }
}

pub fn intake_settings() -> IntakeSettings {
    IntakeSettings {
        max_body: 64 * 1024,
        max_bodies: 1 << 20,
        max_connections: 100,
        max_connections_per_address: 1_000_000,
        trusted_proxies: Vec::new(),
        head_timeout: PATIENCE,
        idle_timeout: PATIENCE,
        body_timeout: PATIENCE,
        drain: PATIENCE,
        drain_delay: Duration::ZERO,
        hosts: Hosts::new(&["intake"]).unwrap(),
        x_ratelimit_headers: false,
        max_batch: 100,
        max_waits: 4,
        max_waits_per_caller: 2,
        max_event_streams: 4,
        max_event_streams_per_caller: 2,
        redaction: dripfeed_job::redaction::Redaction::default(),
    }
}

pub fn settings(name: &str) -> BucketSettings {
    let mut settings = buckets::settings(name);
    (settings.capacity, settings.capacity_bytes) = (10, 1 << 20);
    settings.leak.max_hold = Duration::from_mins(1);
    (settings.retry.first, settings.retry.max) = (Duration::from_secs(1), Duration::from_mins(1));
    settings.keep.answer_bytes = 1000;
    settings
}
