//! Promise 2: From its 202 on a job is called at least once, and it ends in exactly one recorded outcome. A refused or
//! failed submission leaves nothing behind.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{Submission, entry};
use dripfeed_store::{AppendFsync, Durability, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets::{self, join, open, refused, submit, take_one};
use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use futures::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::sleep;

const WRITERS: usize = 8;

/// A request and its result. `Err`: there was no answer, so the job may exist or not.
struct Asked {
    begun: Instant,
    took: Duration,
    answer: Result<ClientResponse, String>,
}

/// Writers that submit continuously until they are stopped. After a failed request they wait a little.
struct Writers {
    end: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<Asked>>>,
}

impl Writers {
    fn start(client: &Client) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let tasks = (0..WRITERS).map(|n| tokio::spawn(write(client.clone(), n, Arc::clone(&end)))).collect();
        Self { end, tasks }
    }

    async fn end(self) -> Vec<Asked> {
        self.end.store(true, Ordering::SeqCst);
        join_all(self.tasks).await.into_iter().flat_map(|asked| asked.expect("a writer doesn't fail")).collect()
    }
}

async fn write(client: Client, writer: usize, end: Arc<AtomicBool>) -> Vec<Asked> {
    let mut all = Vec::new();
    while !end.load(Ordering::SeqCst) {
        let begun = Instant::now();
        let answer = client.submit("b", format!("{writer} {}", all.len())).await;
        let accepted = answer.as_ref().is_ok_and(|answer| answer.status == 202);
        all.push(Asked { begun, took: begun.elapsed(), answer });
        sleep(Duration::from_millis(if accepted { 2 } else { 50 })).await;
    }
    all
}

fn accepted(asked: &[Asked]) -> BTreeSet<String> {
    let answers = asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
    answers.filter(|answer| answer.status == 202).map(|answer| answer.text("id")).collect()
}

/// Checks that each accepted job was called, and has exactly one outcome: delivered. Outcomes are stored by id, so a
/// second one shows only in the list of ended jobs and in the counts.
async fn all_kept(service: &Service, upstream: &Upstream, accepted: &BTreeSet<String>) {
    service.drained("b").await;
    let called: BTreeSet<String> = upstream.calls_by_job().into_keys().collect();
    let lost: Vec<_> = accepted.difference(&called).collect();
    assert!(lost.is_empty(), "of {} accepted jobs, never called: {lost:?}", accepted.len());
    let outcomes: std::collections::BTreeMap<String, String> = service.redis("HGETALL dripfeed:{b}:outcomes").await;
    for job in accepted {
        let outcome = outcomes.get(job).unwrap_or_else(|| panic!("{job} has no outcome"));
        assert!(outcome.contains(" delivered "), "{job}: {outcome}");
    }
    let ended: Vec<String> = service.redis("ZRANGE dripfeed:{b}:outcomes:ended 0 -1").await;
    let mut ended: Vec<&str> = ended.iter().flat_map(|ids| ids.split_whitespace()).collect();
    ended.sort_unstable();
    let mut recorded: Vec<&String> = outcomes.keys().collect();
    recorded.sort_unstable();
    assert_eq!(ended, recorded, "each is listed once");
    let counts = service.counts("b").await;
    let jobs = outcomes.len() as u64;
    assert_eq!((counts.accepted, counts.delivered), (jobs, jobs), "and counted once");
}

fn bucket(upstream: &Upstream) -> String {
    format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 5000", upstream.url())
}

/// How long Redis is away. Each request is answered before it is back.
const AWAY: Duration = Duration::from_secs(4);
/// The time until everything works again. Busy machines need less than this, too.
const BACK_WITHIN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_accepted_is_lost_when_redis_is_killed_and_started_again_under_load() {
    let upstream = Upstream::willing().await;
    // With one flush per second, Redis buffers writes in its process while a flush is slow, and a kill loses them.
    let options = ServerOptions { append_fsync: AppendFsync::Always, ..ServerOptions::default() };
    let mut service = Service::over(TestRedis::with(options).await, Durability::Fsync, &bucket(&upstream)).await;
    // The timeouts of the default settings.
    let shipped = ["redis.response_timeout=1s", "processor.lease=10s"];
    let intake = service.role("intake", &shipped).await;
    let _processors = [service.role("processor", &shipped).await, service.role("processor", &shipped).await];
    let writers = Writers::start(&intake.client());
    upstream.has_got(500).await;

    service.redis.server.kill().await.unwrap();
    let down = Instant::now();
    sleep(AWAY).await;
    let up = Instant::now();
    service.redis.server.start_again().await.unwrap();
    let ready = Instant::now();
    let calls = upstream.calls().len();
    upstream.has_got(calls + 500).await;
    let asked = writers.end().await;

    let meanwhile = || asked.iter().filter(|asked| asked.begun > down && asked.begun + asked.took < up);
    assert!(meanwhile().count() > WRITERS, "too few asked while Redis was away");
    for asked in meanwhile() {
        let answer = asked.answer.as_ref().expect("an answer while Redis is away");
        assert_eq!((answer.status, answer.text("code").as_str()), (503, "store_unavailable"), "{answer:?}");
        assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
    }
    // Includes requests that were under way when Redis died, and those from just before it came back.
    let longest = asked.iter().map(|asked| asked.took).max().expect("requests");
    assert!(longest < AWAY, "an answer took {longest:?}: it waited for Redis");

    let works = ready + BACK_WITHIN;
    let late = asked.iter().filter(|asked| asked.begun > works);
    let failed: Vec<_> = late.filter(|asked| !matches!(&asked.answer, Ok(answer) if answer.status == 202)).collect();
    assert!(failed.is_empty(), "{} requests failed later than {BACK_WITHIN:?} after Redis was back", failed.len());
    let back = upstream.calls().iter().map(|call| call.arrived).find(|arrived| *arrived > ready).expect("calls");
    assert!(back < works, "the first call came {:?} after Redis was back", back.duration_since(ready));
    all_kept(&service, &upstream, &accepted(&asked)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_intake_accepted_outlives_its_death() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&bucket(&upstream)).await;
    let mut intake = service.intake().await;
    let _processor = service.processor().await;
    let writers = Writers::start(&intake.client());
    upstream.has_got(200).await;
    intake.kill().await;
    // Enough time for each writer to notice.
    sleep(Duration::from_millis(300)).await;
    let asked = writers.end().await;
    assert!(asked.iter().any(|asked| asked.answer.is_err()), "the intake died under load");
    all_kept(&service, &upstream, &accepted(&asked)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_is_recorded_once_whatever_way_a_job_took() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    let job = submit(&bucket, buckets::job("x")).await;
    for end in [Settlement::Retry { after: Duration::ZERO }, Settlement::Requeue, buckets::DELIVERED] {
        assert_eq!(bucket.outcomes(TimeWindow::default(), None, None, 10).await.unwrap().items.len(), 0);
        buckets::settle(&replica, take_one(&replica).await, end).await;
    }
    let outcomes = bucket.outcomes(TimeWindow::default(), None, None, 10).await.unwrap().items;
    assert_eq!(outcomes.iter().map(|ended| ended.id).collect::<Vec<_>>(), [job.id]);
    let ended: u64 = bucket.census().await.unwrap().ended.iter().map(|(_, count)| count).sum();
    assert_eq!(ended, 1);
}

/// A job with this idempotency key.
fn keyed(key: &str) -> Submission {
    Submission { idempotency_key: IdempotencyKey::parse(key).ok(), ..buckets::job("x") }
}

/// All Redis keys except the responses to batches, which expire after seconds.
async fn kept_keys(redis: &TestRedis) -> BTreeSet<String> {
    let keys: BTreeSet<String> = redis.ask("KEYS *").await;
    keys.into_iter().filter(|key| !key.contains(":token:")).collect()
}

#[tokio::test]
async fn a_refused_submission_leaves_nothing_behind() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    (settings.capacity, settings.capacity_bytes) = (1, 100);
    let bucket = open(&redis, settings).await;
    submit(&bucket, buckets::job("first")).await;
    let refusable = |body: String| Submission { body: body.into(), ..keyed("refused") };
    let before = kept_keys(&redis).await;
    let census = bucket.census().await.unwrap();
    assert_eq!(refused(bucket.admit(refusable("x".into())).await).reason, RefusalReason::BucketFull);
    assert_eq!(refused(bucket.admit(refusable("x".repeat(200))).await).reason, RefusalReason::NeverFits);
    assert_eq!(kept_keys(&redis).await, before);
    let after = bucket.census().await.unwrap();
    assert_eq!((after.level, after.bytes, after.accepted), (census.level, census.bytes, census.accepted));
    // The idempotency key of the refused submission is still free.
    assert_eq!(bucket.purge().await.unwrap(), 1);
    assert!(!submit(&bucket, refusable("another".into())).await.repeated);
}

/// Submissions to Redis fail, once or until the bucket gives up. One that was executed leaves a whole job, though its
/// response was lost; one that wasn't executed leaves nothing.
#[tokio::test]
async fn a_failed_submission_leaves_nothing_behind() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let address = proxy.url().parse().expect("an address");
    let store = Store::connect(&RedisSettings::new(address, "dripfeed", Durability::Everysec)).await.unwrap();
    let bucket = Bucket::new(store, buckets::settings("b"));
    // The first job creates all Redis keys that the bucket itself needs.
    let seen = open(&redis, buckets::settings("b")).await;
    submit(&bucket, keyed("first")).await;
    let faults = [
        ProxyFault::Error("LOADING Redis is loading the dataset in memory"),
        ProxyFault::Error("OOM command not allowed when used memory > 'maxmemory'."),
        ProxyFault::Drop,
        ProxyFault::Close,
        ProxyFault::Half,
        ProxyFault::Garbage,
    ];
    let each = faults.into_iter().flat_map(|fault| [(fault, 1), (fault, u64::MAX)]);
    for (fault, times, is_keyed) in each.flat_map(|(fault, times)| [(fault, times, true), (fault, times, false)]) {
        let context = format!("{fault:?} {times}");
        let job = || if is_keyed { keyed(&context) } else { buckets::job("x") };
        let (before, keys_before) = (seen.census().await.unwrap(), kept_keys(&redis).await);
        proxy.plan("admit", fault, times);
        let answer = bucket.admit(job()).await;
        proxy.behave("admit");
        assert!(times == 1 || answer.is_err(), "{context}: {answer:?}");
        let jobs = u64::from(answer.is_ok() || fault.is_carried_out());
        let added = async || {
            let after = seen.census().await.unwrap();
            (after.level - before.level, after.accepted - before.accepted, after.bytes - before.bytes)
        };
        let bytes = entry::encode(&job()).bytes() as u64;
        assert_eq!(added().await, (jobs, jobs, jobs * bytes), "{context}");
        if jobs == 0 {
            assert_eq!(kept_keys(&redis).await, keys_before, "{context}");
        }
        // A repetition with the idempotency key finds the job, if it exists, and otherwise adds one.
        let again = submit(&seen, job()).await;
        assert_eq!(again.repeated, is_keyed && jobs == 1, "{context}");
        let jobs = if is_keyed { 1 } else { jobs + 1 };
        assert_eq!(added().await, (jobs, jobs, jobs * bytes), "{context}");
        until("the bucket reaches Redis again", async || bucket.census().await.is_ok()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_job_has_one_outcome_whatever_becomes_of_its_settlement() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&bucket(&upstream)).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.intake().await;
    let _processor = service.role("processor", &[&format!("redis.url={}", proxy.url())]).await;
    // After this job Redis knows the script, so that it executes whatever the proxy passes on.
    let first = intake.client().submit("b", "first").await.expect("an answer");
    service.drained("b").await;
    let mut accepted = BTreeSet::from([first.text("id")]);
    for fault in [ProxyFault::Drop, ProxyFault::Close, ProxyFault::Half, ProxyFault::Garbage] {
        for times in [1, 3] {
            proxy.plan("settle", fault, times);
            for n in 0..10 {
                let answer = intake.client().submit("b", format!("{fault:?} {n}")).await.expect("an answer");
                assert_eq!(answer.status, 202, "{answer:?}");
                accepted.insert(answer.text("id"));
            }
            proxy.done("settle").await;
        }
    }
    all_kept(&service, &upstream, &accepted).await;
}
