//! Jobs of a bucket that left the settings are reported, and can be delivered or moved; a move that was killed and is
//! run again makes one new job of each.

use std::collections::BTreeMap;

use dripfeed_bucket::{Bucket, BucketSettings, Kind, WhenDeadFull};
use dripfeed_job::{Ending, JobId, JobState};
use dripfeed_tests::buckets::{self, DELIVERED, buried, join, settle, take};
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;

/// Somewhat more than two pages of a move.
const JOBS: usize = 450;

fn calling(upstream: &Upstream, bucket: &str) -> String {
    format!("[buckets.{bucket}]\nupstream = \"{}\"\ncapacity = 10000\n", upstream.url())
}

/// Opens a bucket directly, without the service.
fn bucket(service: &Service, name: &str, kind: Kind, key: Option<&str>) -> Bucket {
    let key = key.map(str::to_owned);
    let settings = BucketSettings { kind, key, capacity: 10_000, ..buckets::settings(name) };
    Bucket::new(service.store().clone(), settings)
}

async fn level(bucket: &Bucket) -> u64 {
    bucket.census().await.expect("Redis answers").level
}

/// Submits all jobs, with their numbers as bodies.
async fn fill(bucket: &Bucket) -> Vec<JobId> {
    let mut ids = Vec::new();
    for n in 0..JOBS / 50 {
        let jobs = (n * 50..(n + 1) * 50).map(|n| buckets::job(n.to_string())).collect();
        ids.extend(bucket.admit_many(jobs).await.into_iter().map(|admitted| buckets::admitted(admitted).id));
    }
    ids
}

/// Delivers all jobs of a bucket. Returns their ids by body.
async fn delivered(bucket: &Bucket) -> BTreeMap<String, JobId> {
    let replica = join(bucket, "reader").await;
    let mut all = BTreeMap::new();
    while level(bucket).await > 0 {
        for taken in take(&replica, 100).await {
            let job = taken.job.as_ref().expect("a job");
            let body = String::from_utf8_lossy(&job.body).into_owned();
            assert_eq!(all.insert(body, job.id), None, "one job of each");
            settle(&replica, taken, DELIVERED).await;
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_bucket_is_reported_and_drained_also_when_that_is_killed() {
    let upstream = Upstream::willing().await;
    let old = calling(&upstream, "mail") + "leak.rate = \"100/s\"\n";
    let service = Service::new(&old).await;
    let ids = fill(&bucket(&service, "mail", Kind::Stream, None)).await;
    service.silence("mail stream ").await;
    service.configure(&calling(&upstream, "post"));
    let intake = service.intake().await;
    until("it is reported", async || intake.log().contains("drain mail")).await;

    service.configure(&old);
    let mut command = service.command(&[]);
    command.args(["drain", "mail"]);
    let mut draining = Process::spawn("drain", command);
    upstream.has_got(JOBS / 4).await;
    draining.kill().await;
    service.silence("mail stream ").await;
    let (code, said) = service.run(&["drain", "mail"]).await;
    assert_eq!(code, Some(0), "{said}");
    let calls = upstream.calls_by_job();
    assert!(calls.len() == ids.len() && ids.iter().all(|id| calls.contains_key(&id.to_string())), "{calls:?}");
    let counts = service.counts("mail").await;
    assert_eq!((counts.level, counts.delivered), (0, ids.len() as u64));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_is_killed_and_run_again_makes_one_new_job_of_each() {
    for kind in [Kind::Stream, Kind::List] {
        for (script, fault) in [
            ("admit", ProxyFault::Drop),
            ("admit", ProxyFault::Close),
            ("moved", ProxyFault::Drop),
            ("moved", ProxyFault::Close),
        ] {
            killed_at(kind, script, fault).await;
        }
    }
}

/// Kills a move after its first page, before or after this script is executed, and then runs it again.
async fn killed_at(kind: Kind, script: &str, fault: ProxyFault) {
    let service = Service::new("[buckets.post]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 10000\n").await;
    let old = bucket(&service, "mail", kind, Some("x:old"));
    let ids = fill(&old).await;
    let place = format!("mail {} x:old", kind.as_str());
    service.silence(&place).await;

    let proxy = RedisFaultProxy::before(&service.redis).await;
    let mut command = service.command(&[&format!("redis.url={}", proxy.url())]);
    command.args(["drain", "mail", "--into", "post"]);
    let mut moving = Process::spawn("drain", command);
    until("the first are moved", async || level(&old).await < JOBS as u64).await;
    proxy.plan(script, fault, 1);
    until("it comes to that, or to its end", async || proxy.has_done(script) || level(&old).await == 0).await;
    moving.kill().await;

    service.silence(&place).await;
    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert_eq!(code, Some(0), "{kind:?} {script} {fault:?}: {said}");
    let post = bucket(&service, "post", Kind::Stream, None);
    assert_eq!((level(&old).await, level(&post).await), (0, JOBS as u64), "{kind:?} {script} {fault:?}");
    let new = delivered(&post).await;
    for (n, id) in ids.into_iter().enumerate() {
        let job = old.find(id).await.expect("Redis answers").expect("it is remembered");
        let (outcome, _) = job.outcome.expect("an outcome");
        assert_eq!(job.state, JobState::Ended(Ending::Cancelled));
        assert_eq!(outcome.reason, Some(format!("moved to `post` as job {}", new[&n.to_string()])));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_waits_for_room_among_the_dead_letters_is_not_moved() {
    let service = Service::new("[buckets.post]\nupstream = \"http://127.0.0.1:1/\"\n").await;
    let mut settings = buckets::settings("mail");
    (settings.keep.most_dead, settings.keep.when_dead_full) = (1, WhenDeadFull::Hold);
    let old = Bucket::new(service.store().clone(), settings);
    let replica = join(&old, "replica").await;
    old.admit_many(vec![buckets::job("0"), buckets::job("1")]).await;
    for taken in take(&replica, 2).await {
        settle(&replica, taken, buried("refused")).await;
    }
    replica.leave().await.expect("Redis answers");
    assert_eq!((old.census().await.expect("Redis answers").dead, level(&old).await), (1, 1));
    service.silence("mail stream ").await;
    let (_, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert!(said.contains("waits for room among the dead letters"), "{said}");
    assert!(said.contains("dead letters of the bucket stay in Redis"), "{said}");
    assert_eq!((level(&old).await, level(&bucket(&service, "post", Kind::Stream, None)).await), (1, 0));
}
