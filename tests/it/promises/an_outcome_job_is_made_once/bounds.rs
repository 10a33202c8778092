//! The bounds are never exceeded, and nothing is lost when one is reached.

use dripfeed_bucket::*;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_store::Durability;
use dripfeed_tests::buckets::{self, DELIVERED, job, join, settle, submit, take};
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;

use super::{brief, hand_over, is_late, outbox, outbox_bytes, reported, reporting, to};

const JOBS: usize = 20;
const MOST: u64 = 5;
const ROOM: u64 = 3;

/// Takes and settles all jobs that it can. Returns the highest number of outcome jobs in the outbox.
async fn work(from: &Bucket, replica: &Replica) -> u64 {
    let mut most = 0;
    while let Take::Jobs(jobs, _) = replica.take(10).await.expect("Redis answers") {
        for taken in jobs {
            settle(replica, taken, DELIVERED).await;
        }
        most = most.max(from.census().await.expect("Redis answers").outbox);
    }
    most
}

/// Fills the outbox and the target, and then goes on until all jobs are reported.
async fn all_is_reported_within_the_bounds(from: &Bucket, events: &Bucket) {
    let targets = Buckets::new([from.clone(), events.clone()]);
    let mut ids = Vec::new();
    for n in 0..JOBS {
        ids.push(submit(from, job(n.to_string())).await.id.to_string());
    }
    let (replica, mut courier) = (join(from, "r").await, OutboxRelay::new(from.clone()));
    assert_eq!(work(from, &replica).await, MOST);
    let census = from.census().await.expect("Redis answers");
    assert_eq!((census.pace.reason, census.level), ("outbox_full", JOBS as u64 - MOST), "the source has stopped");

    let mut all = Vec::new();
    while all.len() < JOBS {
        let end = hand_over(&mut courier, &targets).await;
        assert!(matches!(end, HandOverResult::Waiting(_) | HandOverResult::All), "{end:?}");
        let level = events.census().await.expect("Redis answers").level;
        assert!((1..=ROOM).contains(&level), "{level} of {ROOM}");
        all.extend(reported(events).await.into_keys());
        assert!(work(from, &replica).await <= MOST);
    }
    all.sort();
    ids.sort();
    assert_eq!(all, ids);
    let census = from.census().await.expect("Redis answers");
    assert_eq!((census.level, census.outbox, census.outbox_handed_over), (0, 0, JOBS as u64));
}

fn events() -> BucketSettings {
    BucketSettings { capacity: ROOM, ..buckets::settings("events") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_target_stops_the_source_and_passes_no_bound() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("events")], MOST)).await;
    let events = buckets::open(&redis, events()).await;
    all_is_reported_within_the_bounds(&from, &events).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_target_in_another_slot_of_a_cluster_stops_the_source_and_passes_no_bound() {
    let cluster = TestCluster::start(2, 0, "").await;
    let store = cluster.store(Durability::Everysec).await;
    let from = Bucket::new(store.clone(), reporting("work", vec![to("events")], MOST));
    let events = Bucket::new(store, events());
    let owners = [cluster.owner_of("{work}").await, cluster.owner_of("{events}").await];
    assert_ne!(owners[0], owners[1], "they are on different nodes");
    all_is_reported_within_the_bounds(&from, &events).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_leaves_room_for_all_that_is_in_flight() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("a"), to("b")], MOST)).await;
    for n in 0..JOBS {
        submit(&from, job(n.to_string())).await;
    }
    let replica = join(&from, "r").await;
    let held = take(&replica, 10).await;
    assert_eq!(held.len() as u64, MOST / 2, "each end makes two");
    assert!(matches!(replica.take(10).await.expect("Redis answers"), Take::Idle(_)));
    let waiting = from.jobs(&JobFilter::default(), None, 100).await.expect("Redis answers").items;
    let id = waiting.iter().map(|job| job.id).max().expect("a job waits");
    assert!(matches!(from.cancel(id).await, Err(BucketError::OutboxFull)), "nor is there room for its end");
    for taken in held {
        settle(&replica, taken, DELIVERED).await;
    }
    assert_eq!(outbox(&redis, "from").await, MOST - 1);
    assert!(matches!(replica.take(10).await.expect("Redis answers"), Take::Idle(_)));
    // Purged jobs make no outcome jobs.
    from.purge().await.expect("Redis answers");
    assert_eq!(outbox(&redis, "from").await, MOST - 1);
    assert_eq!(from.cancel(id).await.expect("Redis answers"), CancelResult::Ended(dripfeed_job::Ending::Cancelled));
}

/// Each answer is as large as is kept of one, so that few outcome jobs reach the bound of bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bound_of_bytes_of_the_outbox_is_not_passed() {
    let redis = TestRedis::start().await;
    let mut settings = reporting("from", vec![to("events")], 1000);
    let largest = OnOutcome::largest(settings.keep.failed_answer_bytes);
    settings.on_outcome.bytes = MOST * largest;
    let kept = vec![b'x'; settings.keep.failed_answer_bytes as usize];
    let from = buckets::open(&redis, settings).await;
    for n in 0..4 * JOBS {
        submit(&from, job(n.to_string())).await;
    }
    let replica = join(&from, "r").await;
    let mut in_flight = take(&replica, 10).await;
    assert_eq!(in_flight.len() as u64, MOST, "each of them may make as large a one as there can be");
    let (answer, mut most) = (AnswerBody::new(None, &kept, false), 0);
    loop {
        for taken in in_flight {
            let delivered = Settlement::Complete { status: 200, answer: Some(answer.clone()) };
            settle(&replica, taken, delivered).await;
            most = most.max(outbox_bytes(&redis, "from").await);
        }
        let Take::Jobs(jobs, _) = replica.take(10).await.expect("Redis answers") else { break };
        in_flight = jobs;
    }
    assert!(most <= MOST * largest, "{most} bytes waited");
    assert!(most > (MOST - 1) * largest, "of {} bytes only {most} were used", MOST * largest);
    let census = from.census().await.expect("Redis answers");
    assert_eq!(census.pace.reason, "outbox_full");
    assert!(census.level > 0 && census.outbox < 1000, "it is the bytes that have stopped it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_expire_together_pass_no_bound() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("events")], MOST)).await;
    for n in 0..JOBS {
        let id = submit(&from, brief()).await.id;
        if n == JOBS - 1 {
            is_late(&redis, id).await;
        }
    }
    let replica = join(&from, "r").await;
    until("all have expired that may", async || {
        assert!(matches!(replica.take(10).await.expect("Redis answers"), Take::Idle(_)));
        assert!(outbox(&redis, "from").await <= MOST);
        from.census().await.expect("Redis answers").pace.reason == "outbox_full"
    })
    .await;
    assert_eq!(from.census().await.expect("Redis answers").level, JOBS as u64 - MOST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_maxmemory_what_was_called_is_settled_and_its_outcome_kept() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("events")], 100)).await;
    let events = buckets::open(&redis, buckets::settings("events")).await;
    let targets = Buckets::new([events.clone()]);
    let (replica, mut courier) = (join(&from, "r").await, OutboxRelay::new(from.clone()));
    for n in 0..JOBS {
        submit(&from, job(n.to_string())).await;
    }
    let held = take(&replica, JOBS).await;
    redis.ask::<String>("CONFIG SET maxmemory 1").await;
    for taken in held {
        settle(&replica, taken, DELIVERED).await;
    }
    assert_eq!(outbox(&redis, "from").await, JOBS as u64);
    assert!(matches!(hand_over(&mut courier, &targets).await, HandOverResult::Waiting(_)));
    assert_eq!(outbox(&redis, "from").await, JOBS as u64);
    redis.ask::<String>("CONFIG SET maxmemory 0").await;
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    assert_eq!(reported(&events).await.len(), JOBS);
}
