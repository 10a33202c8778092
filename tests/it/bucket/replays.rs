//! Replays of many dead letters. Each letter is replayed once, when there is room. Letters of jobs that die after the
//! beginning stay, also during a bulk deletion.

use std::collections::BTreeSet;

use dripfeed_bucket::*;
use dripfeed_job::{JobId, LastStatus, Rate, Submission};
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{self, DELIVERED, NO_FILTER, buried, join, open, settle, submit, take_one};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::{TestRedis, patient};
use dripfeed_tests::service::until;

fn settings(kind: Kind, capacity: u64) -> BucketSettings {
    BucketSettings { kind, capacity, ..buckets::settings(kind.as_str()) }
}

fn seldom() -> Option<Rate> {
    Some("1/h".parse().expect("a rate"))
}

/// Submits and buries jobs of this caller, one after the other.
async fn die(bucket: &Bucket, jobs: usize, caller: &str) -> BTreeSet<JobId> {
    let replica = join(bucket, "undertaker").await;
    let mut died = BTreeSet::new();
    for n in 0..jobs {
        let job = Submission { caller: Some(caller.to_owned()), ..buckets::job(n.to_string()) };
        died.insert(submit(bucket, job).await.id);
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    replica.leave().await.expect("Redis answers");
    died
}

async fn letters(bucket: &Bucket) -> BTreeSet<JobId> {
    let page = bucket.dead_letters(&NO_FILTER, None, 1000).await.expect("Redis answers");
    page.items.into_iter().map(|letter| letter.id).collect()
}

async fn start(bucket: &Bucket, filter: DeadFilter, rate: Option<Rate>) -> ReplayId {
    let id = bucket.start_replay(filter, rate, Some("ops")).await.expect("Redis answers").expect("few are running");
    buckets::resume_replays(bucket).await;
    id
}

async fn found(bucket: &Bucket, id: ReplayId) -> ReplayTask {
    let all = bucket.replays().await.expect("Redis answers");
    all.into_iter().find(|replay| replay.id == id).expect("it is kept")
}

async fn ended(bucket: &Bucket, id: ReplayId) -> ReplayTask {
    until("the replay has ended", async || found(bucket, id).await.state != ReplayState::Running).await;
    found(bucket, id).await
}

#[tokio::test]
async fn every_letter_that_matches_becomes_a_job_and_is_counted() {
    let redis = TestRedis::start().await;
    for kind in [Kind::Stream, Kind::List] {
        let bucket = open(&redis, settings(kind, 1000)).await;
        die(&bucket, 300, "shop").await;
        let others = die(&bucket, 3, "other").await;
        let of_shop = DeadFilter { caller: Some("shop".to_owned()), ..NO_FILTER };
        let id = start(&bucket, of_shop.clone(), Some("100000/s".parse().unwrap())).await;
        let replay = ended(&bucket, id).await;
        assert_eq!((replay.state, replay.total, replay.done, replay.left), (ReplayState::Done, 300, 300, 0));
        assert_eq!((replay.filter, replay.key.as_deref()), (of_shop, Some("ops")));
        assert!(replay.ended_ms >= Some(replay.started_ms));
        assert_eq!(letters(&bucket).await, others);
        let census = bucket.census().await.unwrap();
        assert_eq!((census.level, census.dead_replayed), (300, 300));
    }
}

#[tokio::test]
async fn a_replay_of_a_dead_process_goes_on_though_the_clock_of_redis_was_set_back() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings(Kind::Stream, 1000)).await;
    die(&bucket, 3, "shop").await;
    let id = bucket.start_replay(NO_FILTER, None, None).await.unwrap().expect("few are running");
    let (seconds, _): (u64, u64) = redis.ask("TIME").await;
    let in_an_hour = seconds * 1000 + 3_600_000;
    let lease = redis::Cmd::hset("dripfeed:{stream}:dead:replays", format!("{id}:lease"), format!("dead {in_an_hour}"));
    redis.store().await.command::<u64>(&lease).await.unwrap();
    buckets::resume_replays(&bucket).await;
    assert_eq!(ended(&bucket, id).await.done, 3);
}

#[tokio::test]
async fn letters_that_got_no_answer_are_replayed_without_those_that_got_one() {
    let redis = TestRedis::start().await;
    for kind in [Kind::Stream, Kind::List] {
        let bucket = open(&redis, settings(kind, 1000)).await;
        die(&bucket, 2, "shop").await;
        let replica = join(&bucket, "undertaker").await;
        let answered = submit(&bucket, buckets::job("x")).await.id;
        let reason = "no luck with \"status\":410".to_owned();
        let refused = Settlement::Bury { reason, status: Some(410), answer: None, called: true };
        settle(&replica, take_one(&replica).await, refused).await;
        let unanswered = DeadFilter { status: Some(LastStatus::NoAnswer), ..NO_FILTER };
        let id = start(&bucket, unanswered.clone(), None).await;
        let replay = ended(&bucket, id).await;
        assert_eq!((replay.filter, replay.total, replay.done), (unanswered, 2, 2));
        assert_eq!(letters(&bucket).await, BTreeSet::from([answered]));
    }
}

#[tokio::test]
async fn a_replay_waits_while_the_bucket_is_full_and_goes_on_when_there_is_room() {
    let redis = TestRedis::start().await;
    for kind in [Kind::Stream, Kind::List] {
        let bucket = open(&redis, settings(kind, 2)).await;
        die(&bucket, 5, "shop").await;
        let id = start(&bucket, NO_FILTER, None).await;
        let replica = join(&bucket, "a").await;
        for done in 2..=5 {
            until("the bucket is filled again", async || found(&bucket, id).await.done == done).await;
            assert!(bucket.census().await.unwrap().level <= 2);
            settle(&replica, take_one(&replica).await, DELIVERED).await;
        }
        assert_eq!(ended(&bucket, id).await.state, ReplayState::Done);
        assert!(letters(&bucket).await.is_empty());
    }
}

#[tokio::test]
async fn letters_of_callers_that_have_their_share_stay_and_hold_up_no_other() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings(Kind::Stream, 10)).await;
    die(&bucket, 4, "shop").await;
    die(&bucket, 1, "other").await;
    bucket.apply_overrides(&buckets::changed("max_share", "20%")).await.unwrap();
    let replay = ended(&bucket, start(&bucket, NO_FILTER, None).await).await;
    assert_eq!((replay.state, replay.total, replay.done, replay.left), (ReplayState::Done, 5, 3, 2));
    assert_eq!(letters(&bucket).await.len(), 2);
}

#[tokio::test]
async fn letters_that_others_delete_meanwhile_are_accounted_for_once_it_is_done() {
    let redis = TestRedis::start().await;
    for kind in [Kind::Stream, Kind::List] {
        let bucket = open(&redis, settings(kind, 2)).await;
        die(&bucket, 5, "shop").await;
        let id = start(&bucket, NO_FILTER, None).await;
        until("the bucket is full", async || found(&bucket, id).await.done == 2).await;
        assert_eq!(found(&bucket, id).await.gone(), 0);
        assert_eq!(bucket.delete_dead_many(&NO_FILTER).await.unwrap(), 3);
        let replay = ended(&bucket, id).await;
        assert_eq!((replay.state, replay.total, replay.done, replay.left), (ReplayState::Done, 5, 2, 0));
        assert_eq!(replay.gone(), 3, "{kind:?}");
    }
}

#[tokio::test]
async fn a_job_that_dies_again_is_not_replayed_twice() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings(Kind::Stream, 2)).await;
    let died = die(&bucket, 6, "shop").await;
    let id = start(&bucket, NO_FILTER, None).await;
    let replica = join(&bucket, "a").await;
    for done in 2..=6 {
        until("the bucket is filled again", async || found(&bucket, id).await.done == done).await;
        settle(&replica, take_one(&replica).await, buried("no luck again")).await;
    }
    settle(&replica, take_one(&replica).await, buried("no luck again")).await;
    let replay = ended(&bucket, id).await;
    assert_eq!((replay.done, letters(&bucket).await.len()), (6, 6));
    assert!(letters(&bucket).await.is_disjoint(&died));
}

#[tokio::test]
async fn a_cancelled_replay_stays_cancelled_and_its_letters_stay() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings(Kind::Stream, 10)).await;
    die(&bucket, 3, "shop").await;
    let id = start(&bucket, NO_FILTER, seldom()).await;
    until("the first is replayed", async || found(&bucket, id).await.done == 1).await;
    for found in [CancelReplayResult::Now, CancelReplayResult::EndedBefore] {
        assert_eq!(bucket.cancel_replay(id).await.unwrap(), found);
        buckets::resume_replays(&bucket).await;
    }
    let replay = found(&bucket, id).await;
    assert_eq!((replay.state, replay.done, letters(&bucket).await.len()), (ReplayState::Cancelled, 1, 2));
    let unknown = "0000000000000abc".parse().unwrap();
    assert_eq!(bucket.cancel_replay(unknown).await.unwrap(), CancelReplayResult::Unknown);
    let rest = ended(&bucket, start(&bucket, NO_FILTER, None).await).await;
    assert_eq!((rest.total, rest.done), (2, 2));
}

#[tokio::test]
async fn replays_are_bounded_in_number_and_the_oldest_that_ended_are_forgotten() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings(Kind::Stream, 100)).await;
    die(&bucket, 30, "shop").await;
    let mut running = Vec::new();
    for _ in 0..10 {
        running.push(start(&bucket, NO_FILTER, seldom()).await);
    }
    assert_eq!(bucket.start_replay(NO_FILTER, None, None).await.unwrap(), None);
    assert_eq!(bucket.cancel_replay(running[3]).await.unwrap(), CancelReplayResult::Now);
    let latest = start(&bucket, NO_FILTER, seldom()).await;
    let kept: Vec<ReplayId> = bucket.replays().await.unwrap().into_iter().map(|replay| replay.id).collect();
    assert_eq!(kept.len(), 10);
    assert!(kept.contains(&latest) && !kept.contains(&running[3]), "{kept:?}");
}

/// As after the Redis clock was set back: ids of letters never go back.
#[tokio::test]
async fn letters_that_died_by_a_clock_that_was_ahead_are_replayed() {
    let redis = TestRedis::start().await;
    for kind in [Kind::Stream, Kind::List] {
        let bucket = open(&redis, settings(kind, 100)).await;
        die(&bucket, 1, "shop").await;
        let set: String = redis.ask(&format!("XSETID dripfeed:{{{}}}:dead 4102444800000-0", kind.as_str())).await;
        assert_eq!(set, "OK");
        die(&bucket, 2, "shop").await;
        let replay = ended(&bucket, start(&bucket, NO_FILTER, None).await).await;
        assert_eq!((replay.total, replay.done, letters(&bucket).await), (3, 3, BTreeSet::new()), "{kind:?}");
        let until = DeadFilter { died_until_ms: Some(4_102_444_800_000), ..NO_FILTER };
        assert_eq!(ended(&bucket, start(&bucket, until, None).await).await.total, 0);
    }
}

#[tokio::test]
async fn letters_of_jobs_that_die_during_a_deletion_stay() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let behind = patient(proxy.url().parse().unwrap(), Durability::Everysec);
    for kind in [Kind::Stream, Kind::List] {
        let bucket = open(&redis, settings(kind, 1000)).await;
        let deleting = Bucket::new(Store::connect(&behind).await.unwrap(), settings(kind, 1000));
        // More letters than one script reads.
        die(&bucket, 250, "shop").await;
        proxy.plan("forget", ProxyFault::Hold, 1);
        let deletion = async { deleting.delete_dead_many(&NO_FILTER).await.unwrap() };
        let death = async {
            proxy.done("forget").await;
            let died = die(&bucket, 1, "shop").await;
            proxy.release();
            died
        };
        let (deleted, died) = tokio::join!(deletion, death);
        assert_eq!((deleted, letters(&bucket).await), (250, died), "{kind:?}");
    }
}

/// Two processes have the same bucket, as two intakes.
#[tokio::test]
async fn several_who_want_to_carry_it_out_replay_each_letter_once() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings(Kind::Stream, 1000)).await;
    die(&bucket, 100, "shop").await;
    let others = futures::future::join_all((0..4).map(|_| open(&redis, settings(Kind::Stream, 1000)))).await;
    let id = bucket.start_replay(NO_FILTER, Some("1000/s".parse().unwrap()), None).await.unwrap().unwrap();
    while found(&bucket, id).await.state == ReplayState::Running {
        futures::future::join_all(others.iter().map(buckets::resume_replays)).await;
    }
    assert_eq!(found(&bucket, id).await.done, 100);
    assert_eq!((bucket.census().await.unwrap().level, letters(&bucket).await.len()), (100, 0));
}

#[tokio::test]
async fn a_letter_larger_than_the_capacity_stays_and_holds_up_no_other() {
    let redis = TestRedis::start().await;
    for kind in [Kind::Stream, Kind::List] {
        let bucket = open(&redis, settings(kind, 100)).await;
        let large = die_of(&bucket, "x".repeat(10_000)).await;
        for n in 0..3 {
            die_of(&bucket, n.to_string()).await;
        }
        bucket.apply_overrides(&buckets::changed("capacity_bytes", "4KiB")).await.unwrap();
        let ReplayResult::Refused(refused) = bucket.replay(large).await.unwrap() else { panic!("it is too large") };
        assert_eq!((refused.reason, refused.retry_after), (RefusalReason::NeverFits, None));
        assert_eq!(bucket.replay_many(&NO_FILTER, None).await.unwrap(), ReplayCounts { replayed: 3, left: 1 });
        taken_die(&bucket, 3).await;
        let replay = ended(&bucket, start(&bucket, NO_FILTER, None).await).await;
        assert_eq!((replay.state, replay.total, replay.done, replay.left), (ReplayState::Done, 4, 3, 1));
        assert_eq!(letters(&bucket).await, BTreeSet::from([large]));
    }
}

async fn die_of(bucket: &Bucket, body: String) -> JobId {
    let id = submit(bucket, buckets::job(body)).await.id;
    taken_die(bucket, 1).await;
    id
}

/// Takes and buries waiting jobs.
async fn taken_die(bucket: &Bucket, jobs: usize) {
    let replica = join(bucket, "undertaker").await;
    for _ in 0..jobs {
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    replica.leave().await.expect("Redis answers");
}

#[tokio::test]
async fn a_replay_goes_on_in_a_bucket_whose_deletion_was_interrupted() {
    let redis = TestRedis::start().await;
    let bucket = buckets::defined(&redis, settings(Kind::Stream, 1000)).await;
    assert_eq!(bucket.open(bucket.incarnation().unwrap()).await.unwrap(), OpenResult::Open);
    die(&bucket, 3, "shop").await;
    buckets::suspend_long_ago(&redis, &bucket).await;
    let id = start(&bucket, NO_FILTER, None).await;
    assert_eq!(ended(&bucket, id).await.done, 3);
}
