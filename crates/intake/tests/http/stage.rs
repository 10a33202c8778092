use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use dripfeed_bucket::{
    Bucket, BucketSettings, Buckets, Consumer, Keep, Kind, Leak, Life, PaceTiers, Replica, Settlement, Take, Taken,
};
use dripfeed_intake::{AccessKey, Decisions, Gauges, Health, Intake, IntakeMetrics, IntakeSettings, Keys};
use dripfeed_job::{Job, Retry};
use dripfeed_limit::Services;
use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

/// The longest that anything in a test may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Gone with the test.
pub struct Stage {
    pub redis: PrivateServer,
    pub store: Store,
    pub buckets: Arc<Buckets>,
    pub keys: Arc<Keys>,
    pub health: Health,
    pub intake: Intake,
    _folder: TempDir,
}

/// An answer, read whole.
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

    /// Is this refusal, told as RFC 9457 wants it.
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

pub async fn ask(router: Router, request: Request<Body>) -> Answer {
    let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status, headers: parts.headers, body }
}

/// `GET /path` or `POST /path`, with headers.
pub fn request(line: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let (method, path) = line.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(path);
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(body.into()).unwrap()
}

impl Stage {
    /// A bucket `b` of capacity 10 and one `other`, and no keys.
    pub async fn set() -> Self {
        Self::with(vec![settings("b"), settings("other")], Vec::new(), &[]).await
    }

    pub async fn with(buckets: Vec<BucketSettings>, keys: Vec<AccessKey>, redis: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments = redis.iter().map(|argument| (*argument).to_owned()).collect();
        let options = ServerOptions { arguments, ..ServerOptions::default() };
        let redis = PrivateServer::start(folder.path(), options).await.unwrap();
        let settings = RedisSettings::new(redis.address(), "dripfeed", Durability::Everysec);
        let store = Store::connect(&settings).await.unwrap();
        let buckets = buckets.into_iter().map(|settings| Bucket::new(store.clone(), settings));
        let buckets = Arc::new(Buckets::new(buckets));
        let keys = Arc::new(Keys::new(keys));
        let (intake, health) = assemble(intake_settings(), &store, &keys, &buckets).await;
        Self { redis, store, buckets, keys, health, intake, _folder: folder }
    }

    /// Another intake over the same buckets.
    pub async fn intake(&self, settings: IntakeSettings) -> (Intake, Health) {
        assemble(settings, &self.store, &self.keys, &self.buckets).await
    }

    pub fn bucket(&self, name: &str) -> Bucket {
        self.buckets.get(name).unwrap()
    }

    pub async fn ask(&self, line: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        ask(self.intake.router(), request(line, headers, body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[], Body::empty()).await
    }

    pub async fn post(&self, path: &str) -> Answer {
        self.ask(&format!("POST {path}"), &[], Body::empty()).await
    }

    /// Hands in a job, and gives its id.
    pub async fn submit(&self, body: &str) -> String {
        self.submit_with(&[], body).await
    }

    pub async fn submit_with(&self, headers: &[(&str, &str)], body: &str) -> String {
        let answer = self.ask("POST /v1/buckets/b/jobs", headers, body.to_owned()).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Jobs in the stream itself.
    pub async fn length(&self, bucket: &str) -> u64 {
        let mut xlen = redis::cmd("XLEN");
        xlen.arg(format!("dripfeed:{{{bucket}}}:jobs"));
        self.store.command(&xlen).await.unwrap()
    }

    /// A replica that takes jobs of `b`.
    pub async fn replica(&self) -> Replica {
        self.bucket("b").join(Consumer::new("east"), Duration::from_secs(30), Life::First).await.unwrap()
    }

    /// Takes the next job of `b`.
    pub async fn take(&self, replica: &Replica) -> Taken {
        let take = tokio::time::timeout(PATIENCE, async {
            loop {
                match replica.take(1).await.unwrap() {
                    Take::Jobs(jobs) => return jobs.into_iter().next().unwrap(),
                    Take::Idle(idle) => replica.wait(&idle).await,
                    Take::Fenced => panic!("fenced"),
                }
            }
        });
        take.await.expect("a job can be taken")
    }

    /// Takes the next job of `b`, settles it, and gives what it was.
    pub async fn settle(&self, settlement: Settlement) -> Job {
        let replica = self.replica().await;
        let taken = self.take(&replica).await;
        let job = taken.job.unwrap();
        replica.settle(taken.claim, settlement).await.unwrap();
        replica.leave().await.unwrap();
        job
    }
}

async fn assemble(
    settings: IntakeSettings,
    store: &Store,
    keys: &Arc<Keys>,
    buckets: &Arc<Buckets>,
) -> (Intake, Health) {
    let services = Services::open(store.clone()).await;
    let mut registry = Registry::with_prefix("dripfeed");
    let metrics = IntakeMetrics::register(&mut registry);
    let gauges = Gauges::register(Arc::clone(buckets), &mut registry);
    Decisions::register(services.clone(), &mut registry);
    let health = Health::new(store.clone(), gauges, Arc::new(registry));
    let intake = Intake::new(settings, Arc::clone(keys), Arc::clone(buckets), services, metrics, health.clone());
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
        trusted_proxies: Vec::new(),
        head_timeout: PATIENCE,
        body_timeout: PATIENCE,
        drain: PATIENCE,
        x_ratelimit_headers: false,
        max_batch: 100,
    }
}

pub fn settings(name: &str) -> BucketSettings {
    BucketSettings {
        name: name.parse().unwrap(),
        kind: Kind::Stream,
        key: None,
        capacity: 10,
        capacity_bytes: 1 << 20,
        max_share: None,
        leak: Leak {
            rate: None,
            burst: 1,
            concurrency: 10,
            tiers: PaceTiers::default(),
            adaptive: true,
            max_in_flight: None,
            max_hold: Duration::from_mins(1),
            default_hold: Duration::from_secs(1),
        },
        retry: Retry { attempts: 3, first: Duration::from_secs(1), max: Duration::from_mins(1) },
        deliveries: 3,
        keep: Keep {
            outcomes: Duration::from_hours(1),
            most_outcomes: 1000,
            answer_bytes: 1000,
            idempotency_keys: Duration::from_hours(1),
            most_dead: 1000,
        },
        durability: Durability::Everysec,
    }
}
