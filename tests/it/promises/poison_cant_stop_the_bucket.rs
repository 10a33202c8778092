//! Promise 10: An entry that can't be read, or a job that kills its processor, is buried with the reason after a
//! bounded number of deliveries; everything else goes on.

use dripfeed_bucket::{ClaimedJob, FairBy, Replica, SettleResult, Take, WhenDeadFull};
use dripfeed_job::{Ending, JobState, Submission};
use dripfeed_tests::buckets::{self, join, open, settle, submit, take};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::{Answer, Upstream};
use tokio::sync::mpsc;

#[tokio::test]
async fn a_job_whose_replicas_die_is_buried_after_a_bounded_number_of_deliveries() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.deliveries = 3;
    let bucket = open(&redis, settings).await;
    let poison = submit(&bucket, buckets::job("poison")).await;
    for life in 1..=3 {
        assert_eq!(bucket.census().await.unwrap().level, 1, "before life {life}");
        let replica = join(&bucket, &format!("life {life}")).await;
        take(&replica, 1).await;
        bucket.declare_dead(replica.consumer()).await.unwrap();
    }
    let letter = bucket.dead_letter(poison.id).await.unwrap().expect("buried, not lost");
    let reason = letter.outcome.reason.unwrap();
    assert!(reason.starts_with("handed out 3 times without an end"), "{reason}");
    assert_eq!(letter.body.as_ref(), b"poison");

    let replica = join(&bucket, "next").await;
    submit(&bucket, buckets::job("wholesome")).await;
    let taken = take(&replica, 10).await.pop().unwrap();
    settle(&replica, taken, buckets::DELIVERED).await;
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn jobs_that_die_with_the_one_that_kills_are_told_apart_from_it() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.deliveries = 3;
    let bucket = open(&redis, settings).await;
    for job in ["poison", "beside it", "beside it, too"] {
        submit(&bucket, buckets::job(job)).await;
    }
    // The jobs are claimed together, so all of them are there when the replica dies.
    for life in 1..=2 {
        let replica = join(&bucket, &format!("life {life}")).await;
        assert_eq!(take(&replica, 10).await.len(), 3);
        bucket.declare_dead(replica.consumer()).await.unwrap();
    }
    // From now on they are claimed one at a time, so that the last delivery kills only the poison.
    for job in 1..=3 {
        let replica = join(&bucket, &format!("last life of {job}")).await;
        let mut taken = take_when_due(&replica).await;
        assert_eq!(taken.len(), 1);
        let taken = taken.pop().unwrap();
        if taken.job.as_ref().unwrap().body.as_ref() == b"poison" {
            bucket.declare_dead(replica.consumer()).await.unwrap();
        } else {
            settle(&replica, taken, buckets::DELIVERED).await;
        }
    }
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.dead), (0, 1));
}

/// If a replica starts late, all jobs are due. Calls may take longer than the time between two jobs.
#[tokio::test]
async fn jobs_that_died_together_never_meet_in_one_replica_however_late_it_asks() {
    for by in [FairBy::Off, FairBy::Caller] {
        let redis = TestRedis::start().await;
        let mut settings = buckets::settings("b");
        settings.deliveries = 3;
        settings.fair.by = by;
        let bucket = open(&redis, settings).await;
        for caller in ["poison", "innocent", "innocent, too"] {
            submit(&bucket, Submission { caller: Some(caller.to_owned()), ..buckets::job(caller) }).await;
        }
        for life in 1..=2 {
            let replica = join(&bucket, &format!("life {life}")).await;
            assert_eq!(take(&replica, 10).await.len(), 3);
            bucket.declare_dead(replica.consumer()).await.unwrap();
        }
        let replicas = [join(&bucket, "one").await, join(&bucket, "another").await];
        let mut held = Vec::new();
        for replica in &replicas {
            all_are_due(&redis).await;
            held.push(take(replica, 10).await);
        }
        assert_eq!([held[0].len(), held[1].len()], [1, 1], "each has one");
        all_are_due(&redis).await;
        for replica in &replicas {
            assert!(buckets::takes_nothing(replica).await, "it has one");
        }
        for (replica, mut held) in replicas.iter().zip(held) {
            settle(replica, held.pop().unwrap(), buckets::DELIVERED).await;
        }
        all_are_due(&redis).await;
        assert_eq!(take(&replicas[0], 10).await.len(), 1, "the last one");
    }
}

/// Makes all parked jobs due, as after a while without any replica.
async fn all_are_due(redis: &TestRedis) {
    for id in redis.ask::<Vec<String>>("ZRANGE dripfeed:{b}:parked 0 -1").await {
        redis.ask::<u64>(&format!("ZADD dripfeed:{{b}}:parked XX 1 {id}")).await;
    }
}

/// The jobs are recovered in several calls. Those of a later call don't begin beside those of the first.
#[tokio::test]
async fn however_many_die_together_come_one_after_the_other() {
    const MANY: usize = 250;
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    (settings.deliveries, settings.capacity) = (3, MANY as u64);
    let bucket = open(&redis, settings).await;
    for job in 0..MANY {
        submit(&bucket, buckets::job(job.to_string())).await;
    }
    for life in 1..=2 {
        let replica = join(&bucket, &format!("life {life}")).await;
        let mut held = 0;
        while held < MANY {
            held += take(&replica, MANY - held).await.len();
        }
        assert_eq!(bucket.declare_dead(replica.consumer()).await.unwrap().unwrap().recovered, MANY as u64);
    }
    let due: Vec<(String, u64)> = redis.ask("ZRANGE dripfeed:{b}:parked 0 -1 WITHSCORES").await;
    assert!(due.len() >= MANY - 1, "the first may be due at once: {} are parked", due.len());
    assert!(due.windows(2).all(|pair| pair[1].1 - pair[0].1 >= 500), "{due:?}");
}

async fn take_when_due(replica: &Replica) -> Vec<ClaimedJob> {
    loop {
        match replica.take(10).await.unwrap() {
            Take::Jobs(jobs, _) => return jobs,
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => panic!("it lives"),
        }
    }
}

/// The entry has more fields than Lua can unpack.
#[tokio::test]
async fn an_entry_of_thousands_of_fields_is_buried_once_and_bounded() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let store = redis.store().await;
    let mut add = redis::cmd("XADD");
    add.arg("dripfeed:{b}:jobs").arg("*").arg("body").arg("{}");
    for n in 0..4000 {
        add.arg(format!("field {n}")).arg("value");
    }
    let id: String = store.command(&add).await.unwrap();
    let wholesome = submit(&bucket, buckets::job("wholesome")).await;
    let replica = join(&bucket, "replica").await;
    let settled = take(&replica, 10).await.into_iter().map(|taken| {
        let settlement = match &taken.job {
            Ok(_) => buckets::DELIVERED,
            Err(unreadable) => buckets::buried(&unreadable.to_string()),
        };
        settle(&replica, taken, settlement)
    });
    assert_eq!(futures::future::join_all(settled).await, [SettleResult::Recorded; 2]);
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.dead), (0, 1));
    assert_eq!(bucket.find(wholesome.id).await.unwrap().unwrap().state, JobState::Ended(Ending::Delivered));
    let dead = census.ended.iter().find(|(ending, _)| *ending == Ending::Dead).unwrap().1;
    assert_eq!(dead, 1, "counted once");
    let letter = bucket.dead_letter(id.parse().unwrap()).await.unwrap().expect("a letter");
    assert_eq!(letter.outcome.reason.as_deref(), Some("the entry has 4001 fields: a job has at most 100"));
    assert_eq!(letter.body.as_ref(), b"{}");
    assert!(census.dead_bytes < 4000, "{} bytes are kept of it", census.dead_bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_cant_be_settled_keeps_no_other_from_it() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let store = redis.store().await;
    for n in 0..9 {
        submit(&bucket, buckets::job(n.to_string())).await;
    }
    let replica = join(&bucket, "replica").await;
    let mut taken = take(&replica, 9).await;
    // Nothing can be buried while somebody's key of another type is in the place of the dead letters.
    let _: String = store.command(redis::cmd("SET").arg("dripfeed:{b}:dead").arg("not a stream")).await.unwrap();
    let dying = taken.remove(4);
    let id = dying.claim.id();
    let burying = tokio::spawn({
        let replica = replica.clone();
        async move { settle(&replica, dying, buckets::buried("rejected")).await }
    });
    let others = taken.into_iter().map(|taken| settle(&replica, taken, buckets::DELIVERED));
    assert_eq!(futures::future::join_all(others).await, [SettleResult::Recorded; 8]);
    assert!(!burying.is_finished());
    let _: u64 = store.command(redis::cmd("DEL").arg("dripfeed:{b}:dead")).await.unwrap();
    assert_eq!(burying.await.unwrap(), SettleResult::Recorded);
    let census = bucket.census().await.unwrap();
    let ended = |ending| census.ended.iter().find(|(of, _)| *of == ending).map(|(_, count)| *count);
    assert_eq!((census.level, ended(Ending::Delivered), ended(Ending::Dead)), (0, Some(8), Some(1)));
    assert_eq!(bucket.dead_letter(id).await.unwrap().expect("whole").body.as_ref(), b"4");
}

#[tokio::test]
async fn a_key_in_the_way_of_dead_letters_loses_no_job_that_waits_to_be_buried() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    (settings.keep.most_dead, settings.keep.when_dead_full) = (1, WhenDeadFull::Hold);
    let bucket = open(&redis, settings.clone()).await;
    let replica = join(&bucket, "replica").await;
    let mut ids = Vec::new();
    for n in 0..2 {
        ids.push(submit(&bucket, buckets::job(n.to_string())).await.id);
    }
    for taken in take(&replica, 2).await {
        settle(&replica, taken, buckets::buried("rejected")).await;
    }
    redis.ask::<redis::Value>("RENAME dripfeed:{b}:dead elsewhere").await;
    redis.ask::<redis::Value>("SET dripfeed:{b}:dead something").await;
    (settings.keep.most_dead, settings.keep.when_dead_full) = (10, WhenDeadFull::DropOldest);
    bucket.reconfigure(settings);
    replica.take(1).await.expect_err("nothing can be buried");
    assert_eq!(redis.ask::<u64>("ZCARD dripfeed:{b}:parked").await, 1, "where it was");
    redis.ask::<redis::Value>("RENAME elsewhere dripfeed:{b}:dead").await;
    assert!(buckets::takes_nothing(&replica).await);
    for id in ids {
        let letter = bucket.dead_letter(id).await.unwrap().expect("whole");
        assert_eq!(letter.outcome.reason.as_deref(), Some("rejected"));
    }
}

#[tokio::test]
async fn a_key_in_the_way_of_dead_letters_leaves_a_dead_replica_to_be_recovered() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.deliveries = 1;
    let bucket = open(&redis, settings).await;
    let poison = submit(&bucket, buckets::job("poison")).await.id;
    let replica = join(&bucket, "replica").await;
    take(&replica, 1).await;
    redis.ask::<redis::Value>("SET dripfeed:{b}:dead something").await;
    bucket.declare_dead(replica.consumer()).await.expect_err("it can't be buried");
    let members: Vec<String> = redis.ask("HKEYS dripfeed:{b}:replicas").await;
    assert_eq!(members, ["replica"], "still a member, so that it is declared dead once more");
    redis.ask::<redis::Value>("DEL dripfeed:{b}:dead").await;
    assert_eq!(bucket.declare_dead(replica.consumer()).await.unwrap().unwrap().poisoned, 1);
    assert_eq!(bucket.dead_letter(poison).await.unwrap().expect("whole").body.as_ref(), b"poison");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_cant_be_read_are_buried_and_the_others_delivered() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    let intake = service.intake().await;
    let stream = "dripfeed:{b}:jobs";
    let mut poison: Vec<String> = Vec::new();
    for n in 0..5 {
        poison.push(service.redis(&format!("XADD {stream} * nobody knows")).await);
        poison.push(service.redis(&format!("XADD {stream} * body x path http://elsewhere/{n}")).await);
        poison.push(service.redis(&format!("XADD {stream} * body x expires soon")).await);
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    let _processor = service.processor().await;
    service.drained("b").await;
    assert_eq!(upstream.calls().len(), 5, "the wholesome ones");
    for id in poison {
        let job = intake.client().get(&format!("/v1/buckets/b/jobs/{id}")).await.expect("an answer").json();
        assert_eq!(job["state"], "dead", "{job}");
        assert!(job["outcome"]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{job}");
    }
    let dead = intake.client().get("/v1/buckets/b/dead").await.expect("an answer").json();
    assert_eq!(dead["items"].as_array().map(Vec::len), Some(15), "{dead}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_kills_its_processor_is_buried_and_the_others_delivered() {
    // The upstream reports each call of the poison to the test, and never answers it.
    let (told, mut poisoned) = mpsc::channel(10);
    let upstream = Upstream::start(move |call| {
        let told = told.clone();
        async move {
            if call.text() == "poison" {
                told.send(()).await.expect("the test listens");
                std::future::pending::<()>().await;
            }
            Answer::Status(200)
        }
    })
    .await;
    let settings = format!("[buckets.b]\nupstream = \"{}\"\ndeliveries = 3", upstream.url());
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let poison = intake.client().submit("b", "poison").await.expect("an answer").text("id");
    let mut processor = service.processor().await;
    for _ in 1..=3 {
        poisoned.recv().await.expect("the poison is called");
        processor.kill().await;
        assert_eq!(intake.client().submit("b", "wholesome").await.expect("an answer").status, 202);
        processor = service.processor().await;
    }
    service.drained("b").await;
    let job = intake.client().get(&format!("/v1/buckets/b/jobs/{poison}")).await.expect("an answer").json();
    assert_eq!(job["state"], "dead", "{job}");
    let reason = job["outcome"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("handed out 3 times"), "{reason}");
    let calls = upstream.calls();
    assert_eq!(calls.iter().filter(|call| call.text() == "poison").count(), 3);
    assert_eq!(calls.iter().filter(|call| call.text() == "wholesome").count(), 3);
}
