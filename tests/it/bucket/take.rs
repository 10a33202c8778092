//! The cost of one take: the bytes that it returns and the jobs that it puts aside are bounded, also if a take is
//! repeated after a lost reply. And the records of jobs that a take finds past their deadline.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::outcome::Outcome;
use dripfeed_job::{JobId, StartTime, Submission};
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{self, DELIVERED, admitted, buried, job, join, settle, submit, take, take_one};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::{TestRedis, patient};

const KINDS: [Kind; 2] = [Kind::Stream, Kind::List];
/// Long enough to take a job before its deadline on a busy machine.
const LIFETIME: Duration = Duration::from_secs(3);

/// A bucket without turns, in which all jobs wait in one line.
async fn open_in_line(redis: &TestRedis) -> Bucket {
    let bucket = open(redis, Kind::Stream).await;
    bucket.apply_overrides(&buckets::changed("fair.by", "off")).await.expect("Redis answers");
    bucket
}

async fn open(redis: &TestRedis, kind: Kind) -> Bucket {
    let settings = BucketSettings { kind, capacity: 10_000, capacity_bytes: 1 << 30, ..buckets::settings("b") };
    buckets::open(redis, settings).await
}

/// The bytes of all bodies.
fn bytes(jobs: &[ClaimedJob]) -> usize {
    jobs.iter().map(|taken| taken.job.as_ref().unwrap().body.len()).sum()
}

async fn times(redis: &TestRedis, words: &str) -> u64 {
    redis.ask::<u64>(words).await
}

#[tokio::test]
async fn a_take_hands_out_no_more_bytes_than_a_script_may_read() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind).await;
        let replica = join(&bucket, "a").await;
        for _ in 0..12 {
            submit(&bucket, job("x".repeat(BATCH_BYTES / 4))).await;
        }
        let mut jobs = Vec::new();
        for _ in 0..3 {
            jobs = take(&replica, 128).await;
            assert!(bytes(&jobs) <= BATCH_BYTES && jobs.len() >= 2, "{kind:?}: {} bytes", bytes(&jobs));
        }
        // Requeued jobs are parked, and due at once. The bound holds for them, too.
        for taken in jobs {
            settle(&replica, taken, Settlement::Requeue).await;
        }
        assert!(bytes(&take(&replica, 128).await) <= BATCH_BYTES);
    }
}

#[tokio::test]
async fn each_job_of_a_take_is_as_it_was_sent_whatever_others_have_in_common_with_it() {
    let redis = TestRedis::start().await;
    let bucket = open_in_line(&redis).await;
    let replica = join(&bucket, "a").await;
    let text = |text: &str| Some(text.to_owned());
    // Equal jobs, jobs with another content type, another caller or none, and one that isn't plain.
    let plain = |content_type, caller| Submission { content_type, caller, ..job("x") };
    let alike = plain(text("a/b"), text("ann"));
    let takes = [
        vec![alike.clone(), alike.clone(), alike.clone()],
        vec![alike.clone(), plain(text("c/d"), text("ann")), plain(None, text("ann"))],
        vec![alike.clone(), plain(text("a/b"), None), plain(text("a/b"), text("bob"))],
        vec![plain(None, None), Submission { retries: Some(7), ..alike.clone() }, alike.clone(), plain(None, None)],
        vec![Submission { retries: Some(7), ..alike.clone() }],
    ];
    for sent in takes {
        for (n, submission) in sent.iter().enumerate() {
            submit(&bucket, Submission { body: n.to_string().into(), ..submission.clone() }).await;
        }
        for (n, (taken, sent)) in take(&replica, sent.len()).await.into_iter().zip(&sent).enumerate() {
            let job = taken.job.as_ref().expect("intact");
            assert_eq!(job.body, n.to_string());
            assert_eq!((&job.content_type, &job.caller), (&sent.content_type, &sent.caller));
            assert_eq!(job.retries, sent.retries);
            settle(&replica, taken, DELIVERED).await;
        }
    }
    let census = bucket.census().await.expect("Redis answers");
    assert_eq!((census.level, census.bytes), (0, 0));
}

#[tokio::test]
async fn failed_jobs_are_put_back_together_and_what_was_deleted_by_hand_is_not() {
    let redis = TestRedis::start().await;
    let bucket = open_in_line(&redis).await;
    let replica = join(&bucket, "a").await;
    for _ in 0..4 {
        submit(&bucket, job("x")).await;
    }
    for failures in 1..3_u32 {
        let taken = take(&replica, 4).await;
        if failures == 2 {
            let id = taken[1].claim.id();
            assert_eq!(redis.ask::<u64>(&format!("XDEL dripfeed:{{b}}:jobs {id}")).await, 1);
        }
        let before = redis.calls("zadd").await;
        let settled = taken.into_iter().enumerate().map(|(n, taken)| {
            let retry = Settlement::Retry { after: Duration::ZERO };
            settle(&replica, taken, if n == 3 { Settlement::Requeue } else { retry })
        });
        futures::future::join_all(settled).await;
        // The first job may be written before the others.
        assert!(redis.calls("zadd").await - before <= 2);
        let census = bucket.census().await.expect("Redis answers");
        let there = 5 - u64::from(failures);
        assert_eq!((census.level, census.parked, census.in_flight), (there, there, 0));
        let mut attempts: Vec<u32> = redis.ask("HVALS dripfeed:{b}:attempts").await;
        attempts.retain(|attempts| *attempts == failures);
        assert_eq!(attempts.len() as u64, 4 - u64::from(failures));
    }
}

#[tokio::test]
async fn small_jobs_are_read_together_and_large_ones_alone() {
    let redis = TestRedis::start().await;
    let bucket = open_in_line(&redis).await;
    let replica = join(&bucket, "a").await;
    let reads = async |jobs: usize| {
        let before = redis.calls("xreadgroup").await + redis.calls("xclaim").await;
        let taken = take(&replica, 50).await;
        assert_eq!(taken.len(), jobs);
        (redis.calls("xreadgroup").await + redis.calls("xclaim").await - before, taken)
    };
    let submit_many = async |jobs: usize| {
        for admission in bucket.admit_many((0..jobs).map(|n| job(n.to_string())).collect()).await {
            admitted(admission);
        }
    };
    submit_many(50).await;
    let (calls, taken) = reads(50).await;
    assert_eq!(calls, 1);
    for taken in taken {
        settle(&replica, taken, Settlement::Requeue).await;
    }
    let (calls, taken) = reads(50).await;
    assert_eq!(calls, 1, "parked ones, too");
    for taken in taken {
        settle(&replica, taken, DELIVERED).await;
    }

    // The bucket is empty again, so earlier large jobs don't count.
    submit(&bucket, job("x".repeat(BATCH_BYTES))).await;
    submit_many(10).await;
    let (_, taken) = reads(1).await;
    settle(&replica, taken.into_iter().next().unwrap(), DELIVERED).await;
    let (calls, taken) = reads(10).await;
    assert_eq!(calls, 11, "one of them might be as large as the first was");
    for taken in taken {
        settle(&replica, taken, DELIVERED).await;
    }
    submit_many(10).await;
    let (calls, _) = reads(10).await;
    assert_eq!(calls, 1);

    // The size of a job that somebody has added by hand is unknown.
    submit_many(5).await;
    redis.ask::<String>("XADD dripfeed:{b}:jobs * body foreign").await;
    let (calls, _) = reads(6).await;
    assert_eq!(calls, 7);
}

#[tokio::test]
async fn replayed_jobs_that_somebody_else_had_added_are_read_as_large_as_they_are() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, Kind::Stream).await;
    let replica = join(&bucket, "a").await;
    let large = "x".repeat(BATCH_BYTES);
    for _ in 0..3 {
        redis.ask::<String>(&format!("XADD dripfeed:{{b}}:jobs * body {large}")).await;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    let replayed = bucket.replay_many(&DeadFilter::default(), None).await.unwrap();
    assert_eq!(replayed, ReplayCounts { replayed: 3, left: 0 });
    for _ in 0..3 {
        assert_eq!(take(&replica, 50).await.len(), 1);
    }
}

#[tokio::test]
async fn a_job_that_is_larger_than_all_others_is_handed_out_too() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind).await;
        let replica = join(&bucket, "a").await;
        submit(&bucket, job("x".repeat(2 * LARGEST_BODY))).await;
        submit(&bucket, job("small")).await;
        assert_eq!(take(&replica, 128).await.len(), 1);
        assert_eq!(take(&replica, 128).await.len(), 1);
    }
}

#[tokio::test]
async fn a_foreign_entry_that_cannot_be_read_in_time_does_not_stop_the_bucket() {
    for (kind, add) in
        KINDS.into_iter().zip([&["XADD", "dripfeed:{b}:jobs", "*", "body"][..], &["RPUSH", "dripfeed:{b}:jobs"]])
    {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind).await;
        let replica = join(&bucket, "a").await;
        let mut command = redis::cmd(add[0]);
        command.arg(&add[1..]).arg("x".repeat(8 * LARGEST_BODY + 1));
        redis.store().await.command::<redis::Value>(&command).await.unwrap();
        submit(&bucket, job("small")).await;
        // One take reads no more than this job.
        assert!(matches!(replica.take(10).await.unwrap(), Take::Idle(_)));
        assert_eq!(replica.expired(), 0);
        let ended = bucket.outcomes(TimeWindow::default(), None, None, 10).await.unwrap().items;
        assert_eq!((ended.len(), ended[0].outcome.result), (1, dripfeed_job::Ending::Dead), "{kind:?}");
        assert!(ended[0].outcome.reason.as_deref().unwrap().contains("too many to be handed out"));
        assert_eq!(take(&replica, 10).await.len(), 1);
    }
}

#[tokio::test]
async fn a_take_puts_aside_a_bounded_number_and_is_asked_again_at_once() {
    let redis = TestRedis::start().await;
    let bucket = open_in_line(&redis).await;
    let replica = join(&bucket, "a").await;
    let delayed = || Submission { start: StartTime::After(Duration::from_hours(1)), ..job("later") };
    bucket.admit_many((0..450).map(|_| delayed()).collect()).await;
    submit(&bucket, job("now")).await;
    let parked = "ZCARD dripfeed:{b}:parked";
    for asked in 1..=4 {
        let Take::Idle(idle) = replica.take(1).await.unwrap() else { panic!("the others come first") };
        assert_eq!(times(&redis, parked).await, asked * 100);
        // The wait ends at once.
        replica.wait(&idle).await;
    }
    assert_eq!(take(&replica, 1).await.len(), 1);
    assert_eq!(times(&redis, parked).await, 450);
}

#[tokio::test]
async fn a_take_ends_a_bounded_number_of_jobs_past_their_deadline() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind).await;
        let replica = join(&bucket, "a").await;
        let late = || Submission { expires_in: Some(Duration::from_millis(1)), ..job("late") };
        bucket.admit_many((0..250).map(|_| late()).collect()).await;
        submit(&bucket, job("now")).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
        for ended in [100, 200] {
            assert!(matches!(replica.take(1).await.unwrap(), Take::Idle(_)));
            assert_eq!(replica.expired(), 100);
            assert_eq!(times(&redis, "HGET dripfeed:{b}:tally expired").await, ended, "{kind:?}");
        }
        assert_eq!(take(&replica, 1).await.len(), 1);
    }
}

#[tokio::test]
async fn after_a_lost_answer_less_is_asked_for() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let proxy = RedisFaultProxy::before(&redis).await;
        let settings = patient(proxy.url().parse().unwrap(), Durability::Everysec);
        let store = Store::connect(&settings).await.unwrap();
        let bucket = Bucket::new(store.clone(), BucketSettings { kind, ..buckets::settings("b") });
        let replica = join(&bucket, "a").await;
        for n in 0..16 {
            submit(&bucket, job(n.to_string())).await;
        }
        for taken in take(&replica, 2).await {
            settle(&replica, taken, Settlement::Requeue).await;
        }
        proxy.plan("take", ProxyFault::Close, 2);
        for _ in 0..2 {
            replica.take(8).await.unwrap_err();
            store.connected().await;
        }
        // The number has decreased from 8 to 4 and now 2. Then it increases again.
        for taken in [2, 4, 8] {
            assert_eq!(take(&replica, 8).await.len(), taken, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn after_a_lost_answer_what_is_held_is_looked_through_a_bounded_part_in_each_script() {
    const KNOWN: usize = 8;
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let proxy = RedisFaultProxy::before(&redis).await;
        let settings = patient(proxy.url().parse().unwrap(), Durability::Everysec);
        let store = Store::connect(&settings).await.unwrap();
        let bucket = Bucket::new(store.clone(), BucketSettings { kind, ..buckets::settings("b") });
        let replica = join(&bucket, "a").await;
        let mut known = Vec::new();
        for _ in 0..KNOWN {
            submit(&bucket, job("x".repeat(BATCH_BYTES))).await;
            known.push(take_one(&replica).await);
        }
        // The oldest job is read last, so an unknown one comes after the known ones.
        settle(&replica, known.remove(0), Settlement::Requeue).await;
        known.insert(0, take_one(&replica).await);
        let lost = submit(&bucket, job("lost")).await.id;
        let lose_one = async || {
            proxy.plan("take", ProxyFault::Close, 1);
            let before = redis.calls("evalsha").await;
            replica.take(1).await.unwrap_err();
            store.connected().await;
            redis.calls("evalsha").await - before
        };
        lose_one().await;
        // Before the next take the replica searched for claimed jobs that it doesn't know.
        let scripts = lose_one().await;
        assert_eq!(scripts > KNOWN as u64, kind == Kind::List, "{scripts}");

        // Jobs that end meanwhile move the others, but none of these is skipped.
        let again = async { take_one(&replica).await };
        let ending = async {
            for taken in known.drain(..) {
                settle(&replica, taken, DELIVERED).await;
            }
        };
        let (again, ()) = tokio::join!(again, ending);
        assert_eq!(again.claim.id(), lost, "{kind:?}");
        settle(&replica, again, DELIVERED).await;
        assert_eq!(bucket.census().await.unwrap().level, 0, "{kind:?}");
    }
}

#[tokio::test]
async fn a_delayed_job_that_somebody_else_read_from_the_group_is_still_called_at_its_time() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, Kind::Stream).await;
    let replica = bucket.join(Consumer::new("a"), Duration::from_millis(300), JoinKind::First).await.unwrap();
    let delayed = Submission { start: StartTime::After(Duration::from_hours(1)), ..job("later") };
    submit(&bucket, delayed).await;
    let read = "XREADGROUP GROUP processors ghost COUNT 1 STREAMS dripfeed:{b}:jobs >";
    let _: redis::Value = redis.ask(read).await;
    submit(&bucket, job("now")).await;
    assert_eq!(bucket.examine(true).await.unwrap().findings.len(), 1);
    let taken = take(&replica, 10).await;
    assert_eq!(bytes(&taken), "now".len());

    let delayed = Submission { start: StartTime::After(Duration::from_hours(1)), ..job("later") };
    submit(&bucket, delayed).await;
    let _: redis::Value = redis.ask(read).await;
    let mut beats = tokio::time::interval(replica.beat_interval());
    while replica.beat().await.unwrap().recovered == 0 {
        beats.tick().await;
    }
    assert!(buckets::takes_nothing(&replica).await);
}

#[tokio::test]
async fn a_note_about_lost_limits_of_callers_is_removed_if_none_are_set() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, Kind::Stream).await;
    join(&bucket, "a").await;
    redis.ask::<String>("FLUSHALL").await;
    let replica = bucket.join(Consumer::new("a"), Duration::from_secs(5), JoinKind::Rejoin).await.unwrap();
    assert_eq!(times(&redis, "HEXISTS dripfeed:{b}:pace flows").await, 1);
    submit(&bucket, job("x")).await;
    take_one(&replica).await;
    assert_eq!(times(&redis, "HEXISTS dripfeed:{b}:pace flows").await, 0);
}

/// Waits until the deadline of a job has passed, by the Redis clock.
async fn passes(redis: &TestRedis, id: JobId) {
    let deadline = id.accepted_ms() + u64::try_from(LIFETIME.as_millis()).unwrap();
    loop {
        let (seconds, micros): (u64, u64) = redis.ask("TIME").await;
        if seconds * 1000 + micros / 1000 > deadline {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn expired(bucket: &Bucket, replica: &Replica, id: JobId) -> Outcome {
    assert!(buckets::takes_nothing(replica).await);
    let ended = bucket.await_outcome(id, Duration::from_secs(9)).await.unwrap().expect("it has ended");
    assert_eq!(ended.outcome.result, dripfeed_job::Ending::Expired);
    ended.outcome
}

#[tokio::test]
async fn a_job_that_expires_after_its_replica_died_is_not_recorded_as_never_started() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind).await;
        let (dying, heir) = (join(&bucket, "dying").await, join(&bucket, "heir").await);
        let id = submit(&bucket, Submission { expires_in: Some(LIFETIME), ..job("1") }).await.id;
        take_one(&dying).await;
        bucket.declare_dead(dying.consumer()).await.unwrap().expect("it doesn't beat");
        passes(&redis, id).await;
        let outcome = expired(&bucket, &heir, id).await;
        assert_eq!(outcome.attempts, 1, "{kind:?}");
        assert_eq!(outcome.reason.as_deref(), Some("its deadline passed after a replica had died with it"));
    }
}

#[tokio::test]
async fn a_job_that_expires_while_throttled_is_not_recorded_as_never_started() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind).await;
        let replica = join(&bucket, "a").await;
        let id = submit(&bucket, Submission { expires_in: Some(LIFETIME), ..job("1") }).await.id;
        let throttled = Settlement::Throttled { wait: Some(Duration::from_millis(1)) };
        settle(&replica, take_one(&replica).await, throttled).await;
        assert_eq!(bucket.find(id).await.unwrap().map(|found| found.attempts), Some(0));
        passes(&redis, id).await;
        let outcome = expired(&bucket, &replica, id).await;
        assert_eq!(outcome.attempts, 1, "{kind:?}");
        assert_eq!(outcome.reason.as_deref(), Some("its deadline passed while its upstream throttled it"));
        let left = "HLEN dripfeed:{b}:attempts";
        assert_eq!(times(&redis, left).await, 0);
    }
}

#[tokio::test]
async fn a_job_that_was_never_called_expires_as_never_started() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind).await;
        let replica = join(&bucket, "a").await;
        let id = submit(&bucket, Submission { expires_in: Some(LIFETIME), ..job("1") }).await.id;
        settle(&replica, take_one(&replica).await, Settlement::Requeue).await;
        passes(&redis, id).await;
        let outcome = expired(&bucket, &replica, id).await;
        assert_eq!((outcome.attempts, outcome.reason.as_deref()), (0, Some("not started before its deadline")));
        submit(&bucket, job("2")).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
    }
}

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Also if other jobs wait before it, so that it is claimed later than it is due.
#[tokio::test]
async fn a_take_returns_when_a_traced_job_became_due() {
    for others in [0, 3] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, Kind::Stream).await;
        let replica = join(&bucket, "a").await;
        let traced = Submission { traceparent: Some(TRACEPARENT.to_owned()), ..of("traced", "alice") };
        let traced = submit(&bucket, traced).await.id;
        let taken = take_one(&replica).await;
        assert_eq!((taken.claim.id(), taken.claim.due_ms()), (traced, None));
        settle(&replica, taken, Settlement::Retry { after: Duration::from_millis(1) }).await;
        let due_ms = redis.ask::<u64>(&format!("ZSCORE dripfeed:{{b}}:parked {traced}")).await;
        for n in 0..others {
            submit(&bucket, of(&n.to_string(), "bob")).await;
        }
        let taken = loop {
            match replica.take(1).await.expect("Redis answers") {
                Take::Jobs(mut jobs, _) if jobs[0].claim.id() == traced => break jobs.remove(0),
                _ => {}
            }
        };
        // Redis reads its clock again for the idle time of a pending entry.
        let known_ms = taken.claim.due_ms().expect("it was parked");
        assert_eq!(taken.claim.failures(), 1, "beside {others}");
        assert!((due_ms - SCRIPT_MS..=due_ms).contains(&known_ms), "beside {others}: {known_ms}, not {due_ms}");
    }
}

/// How long a script in Redis may take on a busy machine, in ms.
const SCRIPT_MS: u64 = 1000;

fn of(body: &str, caller: &str) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..job(body) }
}
