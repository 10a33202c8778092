//! The messages that are published when jobs are added, and which replicas they wake up.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::{StartTime, Submission};
use dripfeed_store::{ChannelEvent, Store, Subscription};
use dripfeed_tests::buckets::{self, DELIVERED, NO_FILTER, buried, join, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::PATIENCE;
use futures::future::join_all;

const CHANNEL: &str = "dripfeed:{b}:notices";

/// A subscriber of a bucket's messages.
struct Listener {
    store: Store,
    messages: Subscription,
}

impl Listener {
    async fn of(redis: &TestRedis) -> Self {
        let store = redis.store().await;
        let mut messages = store.subscribe(CHANNEL);
        assert!(matches!(messages.next().await, Some(ChannelEvent::Missed)), "it listens from now on");
        Self { store, messages }
    }

    /// The messages since the last call.
    async fn heard(&mut self) -> Vec<String> {
        let mut mark = redis::cmd("PUBLISH");
        mark.arg(CHANNEL).arg("mark");
        self.store.command::<u64>(&mark).await.unwrap();
        let mut heard = Vec::new();
        while let Some(ChannelEvent::Message(message)) = self.messages.next().await {
            match std::str::from_utf8(&message).unwrap() {
                "mark" => break,
                message => heard.push(message.to_owned()),
            }
        }
        heard
    }
}

fn settings(kind: Kind) -> BucketSettings {
    BucketSettings { kind, ..buckets::settings("b") }
}

#[tokio::test]
async fn jobs_are_announced_when_none_waited_before() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = buckets::open(&redis, settings(kind)).await;
        let (replica, mut listener) = (join(&bucket, "a").await, Listener::of(&redis).await);
        let jobs = |jobs: usize| (0..jobs).map(|_| buckets::job("{}")).collect::<Vec<_>>();
        bucket.admit_many(jobs(3)).await;
        assert_eq!(listener.heard().await, ["jobs"], "{kind:?}: once for a batch");
        submit(&bucket, buckets::job("{}")).await;
        let taken = take(&replica, 3).await;
        submit(&bucket, buckets::job("{}")).await;
        assert!(listener.heard().await.is_empty(), "{kind:?}: some wait");
        let others = take(&replica, 10).await;
        submit(&bucket, buckets::job("{}")).await;
        assert_eq!(listener.heard().await, ["jobs"], "{kind:?}: what is in flight doesn't wait");
        for job in taken.into_iter().chain(others) {
            settle(&replica, job, DELIVERED).await;
        }
        assert!(listener.heard().await.is_empty(), "{kind:?}");
    }
}

#[tokio::test]
async fn a_refused_job_and_one_that_is_there_are_announced_to_nobody() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, BucketSettings { capacity: 1, ..settings(Kind::Stream) }).await;
    let (replica, mut listener) = (join(&bucket, "a").await, Listener::of(&redis).await);
    submit(&bucket, buckets::job("{}")).await;
    take(&replica, 1).await;
    assert_eq!(listener.heard().await, ["jobs"]);
    buckets::refused(bucket.admit(buckets::job("{}")).await);
    assert!(listener.heard().await.is_empty());
}

#[tokio::test]
async fn a_replayed_letter_is_announced() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = buckets::open(&redis, settings(kind)).await;
        let replica = join(&bucket, "a").await;
        let dead = submit(&bucket, buckets::job("{}")).await;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
        assert_eq!(bucket.dead_letters(&NO_FILTER, None, 10).await.unwrap().items.len(), 1);
        let mut listener = Listener::of(&redis).await;
        assert!(matches!(bucket.replay(dead.id).await.unwrap(), ReplayResult::As(_)));
        assert_eq!(listener.heard().await, ["jobs"], "{kind:?}");
    }
}

#[tokio::test]
async fn a_job_that_is_requeued_at_once_is_announced_once() {
    let alone = Fair { bounds: FlowBounds { max_in_flight: Some(1), ..FlowBounds::default() }, ..Fair::default() };
    for (kind, fair) in [(Kind::Stream, Fair::default()), (Kind::Stream, alone), (Kind::List, Fair::default())] {
        let redis = TestRedis::start().await;
        let bucket = buckets::open(&redis, BucketSettings { fair, ..settings(kind) }).await;
        let mut listener = Listener::of(&redis).await;
        let what = format!("{kind:?}");
        for caller in ["one", "one", "other"] {
            submit(&bucket, Submission { caller: Some(caller.to_owned()), ..buckets::job("{}") }).await;
        }
        assert_eq!(listener.heard().await, ["jobs"], "{what}");
        for number in 0..3 {
            let replica = join(&bucket, &format!("r{number}")).await;
            let mut taken = take(&replica, 3).await;
            listener.heard().await;
            match number {
                0 => drop(bucket.declare_dead(replica.consumer()).await.unwrap()),
                1 => replica.leave().await.unwrap(),
                _ => drop(settle(&replica, taken.remove(0), Settlement::Requeue).await),
            }
            assert_eq!(listener.heard().await, ["jobs"], "{what}, {number}");
            replica.leave().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_parked_job_is_not_announced() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, settings(Kind::Stream)).await;
    let (replica, mut listener) = (join(&bucket, "a").await, Listener::of(&redis).await);
    submit(&bucket, buckets::job("{}")).await;
    assert_eq!(listener.heard().await, ["jobs"]);
    settle(&replica, take_one(&replica).await, Settlement::Retry { after: Duration::from_hours(1) }).await;
    join(&bucket, "idle").await.leave().await.unwrap();
    assert!(listener.heard().await.is_empty());
}

/// Adds jobs, for all of which `late` is too late, until the pace is marked as crowded.
async fn crowd(redis: &TestRedis, bucket: &Bucket, prompt: &Replica, late: &Replica) {
    for _ in 0..50 {
        let Take::Idle(idle) = late.take(10).await.unwrap() else { panic!("nothing waits") };
        if redis.ask::<u64>("HEXISTS dripfeed:{b}:pace crowded").await == 1 {
            return;
        }
        submit(bucket, buckets::job("{}")).await;
        for job in take(prompt, 10).await {
            settle(prompt, job, DELIVERED).await;
        }
        late.wait(&idle).await;
    }
    panic!("it comes too late each time");
}

#[tokio::test]
async fn a_take_of_the_last_jobs_is_announced_to_other_replicas() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = buckets::open(&redis, settings(kind)).await;
        let (prompt, late) = (join(&bucket, "prompt").await, join(&bucket, "late").await);
        let mut listener = Listener::of(&redis).await;
        crowd(&redis, &bucket, &prompt, &late).await;
        assert!(listener.heard().await.iter().all(|word| word == "jobs"), "{kind:?}: nobody came too late so far");
        let jobs = |jobs: usize| (0..jobs).map(|_| buckets::job("{}")).collect::<Vec<_>>();
        bucket.admit_many(jobs(3)).await;
        let mut taken = take(&prompt, 2).await;
        assert_eq!(listener.heard().await, ["jobs"], "{kind:?}: one waits");
        taken.extend(take(&prompt, 2).await);
        assert_eq!(listener.heard().await, ["taken"], "{kind:?}");
        bucket.admit_many(jobs(2)).await;
        taken.extend(take(&prompt, 2).await);
        assert_eq!(listener.heard().await, ["jobs"], "{kind:?}: it may have no room for the next");
        for job in taken {
            settle(&prompt, job, DELIVERED).await;
        }
        if kind == Kind::Stream {
            let later = Submission { start: StartTime::After(Duration::from_hours(1)), ..buckets::job("{}") };
            bucket.admit_many(vec![later, buckets::job("{}")]).await;
            take(&prompt, 10).await;
            assert_eq!(listener.heard().await, ["jobs", "taken"], "what is parked waits for nobody");
        }
    }
}

#[tokio::test]
async fn a_job_that_one_token_was_left_for_is_announced_as_the_last() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let mut settings = settings(kind);
        settings.leak.rate = Some("1/h".parse().unwrap());
        let bucket = buckets::open(&redis, settings).await;
        let (replica, mut listener) = (join(&bucket, "a").await, Listener::of(&redis).await);
        let (seconds, _): (u64, u64) = redis.ask("TIME").await;
        redis.ask::<u64>(&format!("HSET dripfeed:{{b}}:pace crowded {}", (seconds + 50) * 1000)).await;
        submit(&bucket, buckets::job("{}")).await;
        take(&replica, 10).await;
        assert_eq!(listener.heard().await, ["jobs", "taken"], "{kind:?}");
    }
}

#[tokio::test]
async fn jobs_are_found_though_others_seem_to_have_taken_them() {
    for (kind, is_dead) in [Kind::Stream, Kind::List].into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let redis = TestRedis::start().await;
        let bucket = buckets::open(&redis, settings(kind)).await;
        let (prompt, late) = (join(&bucket, "prompt").await, join(&bucket, "late").await);
        crowd(&redis, &bucket, &prompt, &late).await;
        submit(&bucket, buckets::job("{}")).await;
        settle(&prompt, take(&prompt, 10).await.remove(0), DELIVERED).await;
        let id = submit(&bucket, buckets::job("{}")).await.id;
        let found = async {
            loop {
                match late.take(10).await.unwrap() {
                    Take::Jobs(jobs, _) => break jobs[0].claim.id(),
                    Take::Idle(idle) => late.wait(&idle).await,
                    Take::Fenced => panic!("it lives"),
                }
            }
        };
        let lost = async {
            if is_dead {
                take(&prompt, 10).await;
                bucket.declare_dead(prompt.consumer()).await.unwrap();
            } else {
                redis.ask::<u64>("PUBLISH dripfeed:{b}:notices taken").await;
            }
        };
        lost.await;
        assert_eq!(tokio::time::timeout(PATIENCE, found).await.expect("it is found"), id, "{kind:?}");
    }
}

#[tokio::test]
async fn all_replicas_of_a_process_listen_over_one_connection() {
    let redis = TestRedis::start().await;
    let (store, admin) = (redis.store().await, redis.store().await);
    let connections = async || {
        let list: String = admin.command(redis::cmd("CLIENT").arg("LIST")).await.unwrap();
        list.lines().count()
    };
    let open = |name: String| Bucket::new(store.clone(), buckets::settings(&name));
    let first = join(&open("first".to_owned()), "a").await;
    let waits = async |replica: &Replica| match replica.take(1).await.unwrap() {
        Take::Idle(idle) => replica.wait(&idle).await,
        other => panic!("{other:?}"),
    };
    waits(&first).await;
    let with_one = connections().await;
    let mut replicas = Vec::new();
    for number in 0..50 {
        replicas.push(join(&open(format!("b{number}")), "a").await);
    }
    futures::future::join_all(replicas.iter().map(&waits)).await;
    assert_eq!(connections().await, with_one);
    let channels: Vec<String> = admin.command(redis::cmd("PUBSUB").arg("CHANNELS")).await.unwrap();
    assert_eq!(channels.len(), 51, "{channels:?}");
}

#[tokio::test]
async fn a_replica_whose_connection_was_killed_hears_of_jobs_again() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, settings(Kind::Stream)).await;
    let (replica, admin) = (join(&bucket, "a").await, redis.store().await);
    for round in 0..3 {
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL").arg("TYPE").arg("pubsub");
        admin.command::<u64>(&kill).await.unwrap();
        let id = submit(&bucket, buckets::job("{}")).await.id;
        let found = async {
            loop {
                match replica.take(1).await.unwrap() {
                    Take::Jobs(mut jobs, _) => break jobs.remove(0),
                    Take::Idle(idle) => replica.wait(&idle).await,
                    Take::Fenced => panic!("it lives"),
                }
            }
        };
        let job = tokio::time::timeout(PATIENCE, found).await.expect("it is found");
        assert_eq!(job.claim.id(), id, "round {round}");
        settle(&replica, job, DELIVERED).await;
    }
}

/// Together the answers are more than one script may read.
#[tokio::test]
async fn all_callers_that_wait_for_large_answers_get_them() {
    const JOBS: usize = 12;
    let redis = TestRedis::start().await;
    let mut settings = settings(Kind::Stream);
    settings.keep.answer_bytes = 1 << 20;
    let bucket = buckets::open(&redis, settings).await;
    let replica = join(&bucket, "a").await;
    let mut ids = Vec::new();
    for _ in 0..JOBS {
        ids.push(submit(&bucket, buckets::job("x")).await.id);
        let answer = AnswerBody::new(None, "x".repeat(1 << 19).as_bytes(), false);
        settle(&replica, take_one(&replica).await, Settlement::Complete { status: 200, answer: Some(answer) }).await;
    }
    let ended = join_all(ids.iter().map(|id| bucket.await_outcome(*id, Duration::from_secs(9)))).await;
    for (id, ended) in ids.iter().zip(ended) {
        let ended = ended.unwrap().unwrap_or_else(|| panic!("{id} has ended"));
        assert_eq!(ended.outcome.answer.expect("an answer").body.len(), 1 << 19, "{id}");
    }
}

#[tokio::test]
async fn the_end_of_a_call_makes_room_for_the_next_at_once() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let mut settings = settings(kind);
        settings.leak.max_in_flight = Some(1);
        let bucket = buckets::open(&redis, settings).await;
        let replica = join(&bucket, "a").await;
        bucket.admit_many(vec![buckets::job("1"), buckets::job("2")]).await;
        let first = take_one(&replica).await;
        let Take::Idle(idle) = replica.take(1).await.unwrap() else { panic!("one may be in flight") };
        settle(&replica, first, DELIVERED).await;
        let wait = std::pin::pin!(replica.wait(&idle));
        assert!(futures::poll!(wait).is_ready(), "{kind:?}");
        take_one(&replica).await;
    }
}
