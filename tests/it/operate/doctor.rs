//! The doctor finds what somebody broke by hand, and repairs it: a bounded part in each script, while others go on.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_tests::buckets::{self, DELIVERED, buried, join, open, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use redis::Value;

async fn run(store: &dripfeed_store::Store, words: &[&str]) {
    let mut command = redis::cmd(words[0]);
    words[1..].iter().for_each(|word| {
        command.arg(*word);
    });
    store.command::<Value>(&command).await.unwrap();
}

async fn kinds(bucket: &Bucket, repair: bool) -> Vec<FindingKind> {
    bucket.examine(repair).await.unwrap().findings.iter().map(|finding| finding.kind).collect()
}

#[tokio::test]
async fn corrupted_data_is_found_and_repaired() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = Bucket::new(store.clone(), buckets::settings("b"));
    let replica = bucket.join(Consumer::new("a"), Duration::from_secs(10), JoinKind::First).await.unwrap();
    for answer in bucket.admit_many((0..4).map(|n| buckets::job(n.to_string())).collect()).await {
        assert!(matches!(answer, Ok(Admission::Admitted(_))));
    }
    let Take::Jobs(taken, _) = replica.take(3).await.unwrap() else { panic!("three jobs wait") };
    assert_eq!(kinds(&bucket, false).await, []);

    let ids: Vec<String> = taken.iter().map(|taken| taken.claim.id().to_string()).collect();
    let run = async |words: &[&str]| run(&store, words).await;
    let jobs = "dripfeed:{b}:jobs";
    run(&["XACK", jobs, "processors", &ids[0]]).await;
    run(&["XCLAIM", jobs, "processors", "@parked", "0", &ids[1]]).await;
    run(&["XDEL", jobs, &ids[2]]).await;
    run(&["ZADD", "dripfeed:{b}:parked", "1", "7-0"]).await;
    run(&["HSET", "dripfeed:{b}:attempts", "7-0", "1"]).await;
    run(&["HSET", "dripfeed:{b}:attempts:failed", "7-0", "{}"]).await;
    run(&["HSET", "dripfeed:{b}:dead:letters", "7-0", "8-0"]).await;
    run(&["ZADD", "dripfeed:{b}:dead:sizes", "8", "8-0 100 7-0"]).await;

    use FindingKind::*;
    let broken =
        [Stranded, Phantom, NeverDue, DueButNotParked, AttemptsOfNothing, BytesMiscounted, IndexOfNoLetter, Lost];
    let found = kinds(&bucket, true).await;
    assert!(broken.iter().all(|kind| found.contains(kind)) && found.len() == broken.len(), "{found:?}");
    // What was deleted stays lost, and its loss was accepted.
    assert_eq!(kinds(&bucket, false).await, []);
    assert_eq!(store.command::<u64>(redis::cmd("HGET").arg("dripfeed:{b}:tally").arg("lost")).await.unwrap(), 1);
    run(&["XDEL", jobs, &ids[0]]).await;
    assert!(kinds(&bucket, false).await.contains(&Lost), "another one");
    assert!(kinds(&bucket, true).await.contains(&Lost));
    assert_eq!(kinds(&bucket, false).await, []);
    let Take::Jobs(again, _) = replica.take(10).await.unwrap() else { panic!("the repaired jobs are due") };
    assert_eq!(again.len(), 2);
}

#[tokio::test]
async fn the_lists_of_a_list_bucket_are_examined_and_repaired() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = open(&redis, BucketSettings { kind: Kind::List, ..buckets::settings("b") }).await;
    let (alive, gone) = (join(&bucket, "a").await, join(&bucket, "gone").await);
    for n in 0..6 {
        submit(&bucket, Submission { caller: Some("alice".to_owned()), ..buckets::job(n.to_string()) }).await;
    }
    let held = take_one(&alive).await;
    let lost = take(&gone, 2).await;
    settle(&alive, take_one(&alive).await, buried("no luck")).await;
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());

    run(&store, &["HSET", "dripfeed:{b}:takers", "a", "7"]).await;
    run(&store, &["HDEL", "dripfeed:{b}:replicas", "gone"]).await;
    run(&store, &["HINCRBY", "dripfeed:{b}:tally", "bytes", "5"]).await;
    run(&store, &["HSET", "dripfeed:{b}:holders", "bob", "2"]).await;
    run(&store, &["DEL", "dripfeed:{b}:dead:letters"]).await;
    use FindingKind::*;
    let broken = [BytesMiscounted, HoldersMiscounted, HeldMiscounted, HeldByNoMember, LetterNotIndexed];
    assert_eq!(kinds(&bucket, false).await, broken);
    assert_eq!(kinds(&bucket, true).await, broken);
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    drop(lost);
    assert_eq!(take(&alive, 10).await.len(), 4, "what no member had claimed is there again");
    settle(&alive, held, DELIVERED).await;
    assert_eq!(bucket.dead_letters(&DeadFilter::default(), None, 10).await.unwrap().items.len(), 1);
}

fn keyed(key: &str) -> Submission {
    Submission { idempotency_key: IdempotencyKey::parse(key).ok(), ..buckets::job("x") }
}

#[tokio::test]
async fn records_of_jobs_and_of_ended_jobs_are_checked_and_repaired() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    for n in 0..3 {
        submit(&bucket, keyed(&n.to_string())).await;
    }
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    let delivered = take_one(&replica).await;
    let ended = delivered.claim.id().to_string();
    settle(&replica, delivered, DELIVERED).await;
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());

    let run = async |words: &[&str]| run(&store, words).await;
    let tally = "dripfeed:{b}:tally";
    run(&["HSET", "dripfeed:{b}:dead:waiting", "7-0", "{}"]).await;
    run(&["DEL", "dripfeed:{b}:dead:sizes"]).await;
    run(&["SET", "dripfeed:{b}:once:lost", "7-0 f"]).await;
    run(&["HSET", "dripfeed:{b}:idempotency:jobs", "7-0", "dripfeed:{b}:once:lost"]).await;
    run(&["HINCRBY", tally, "dead_bytes", "5"]).await;
    run(&["HINCRBY", tally, "outcomes_bytes", "-3"]).await;
    run(&["HINCRBY", tally, "outbox_bytes", "7"]).await;
    let members: Vec<String> = redis.ask("ZRANGE dripfeed:{b}:outcomes:ended 0 -1").await;
    let listed = members.iter().find(|member| member.ends_with(&ended)).expect("it is listed");
    run(&["ZREM", "dripfeed:{b}:outcomes:ended", listed]).await;
    run(&["ZADD", "dripfeed:{b}:outcomes:ended", "1", "9-0"]).await;
    use FindingKind::*;
    let broken = [
        RecordOfNothing,
        IdempotencyKeyOfNothing,
        LetterNotIndexed,
        OutcomesNotListed,
        LetterBytesMiscounted,
        OutcomeBytesMiscounted,
        OutboxBytesMiscounted,
    ];
    assert_eq!(kinds(&bucket, false).await, broken);
    assert_eq!(kinds(&bucket, true).await, broken);
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    let listed: Option<u64> =
        store.command(redis::cmd("ZSCORE").arg("dripfeed:{b}:outcomes:ended").arg(&ended)).await.unwrap();
    assert!(listed.is_some_and(|ms| ms > 1), "it is listed by the time of its end");
    let keys: u64 = store.command(redis::cmd("ZCARD").arg("dripfeed:{b}:idempotency:ends")).await.unwrap();
    assert_eq!(keys, 3, "those of the ended jobs, and the one of no job");
}

#[tokio::test]
async fn nothing_is_kept_for_ever_of_jobs_that_were_deleted_by_hand() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    for (kind, name) in [(Kind::Stream, "s"), (Kind::List, "l")] {
        let mut settings = BucketSettings { kind, ..buckets::settings(name) };
        settings.keep.idempotency_keys = Duration::from_millis(1);
        let bucket = open(&redis, settings).await;
        let replica = join(&bucket, "a").await;
        for n in 0..5 {
            submit(&bucket, keyed(&n.to_string())).await;
        }
        if kind == Kind::Stream {
            // One has failed, and waits for its next attempt.
            settle(&replica, take_one(&replica).await, Settlement::Retry { after: Duration::from_millis(1) }).await;
        }
        let key = |of: &str| format!("dripfeed:{{{name}}}:{of}");
        run(&store, &["DEL", &key("jobs")]).await;
        // A job that came later keeps its key; where the bucket is a list, it is the first that ends which leaves it
        // empty.
        submit(&bucket, keyed("later")).await;
        if kind == Kind::List {
            settle(&replica, take_one(&replica).await, DELIVERED).await;
        }
        let left = async || {
            bucket.enforce_retention().await.unwrap();
            let count = async |command: &str, of: &str| -> u64 {
                store.command(redis::cmd(command).arg(key(of))).await.unwrap()
            };
            let once: Vec<String> = store.command(redis::cmd("KEYS").arg(key("once:*"))).await.unwrap();
            (once.len() as u64, count("HLEN", "idempotency:jobs").await, count("ZCARD", "idempotency:ends").await)
        };
        let kept = u64::from(kind == Kind::Stream);
        until("the keys are forgotten", async || left().await == (kept, kept, 0)).await;
        if kind == Kind::Stream {
            until("its due time has come", async || {
                replica.take(10).await.unwrap();
                store.command::<u64>(redis::cmd("HLEN").arg(key("attempts"))).await.unwrap() == 0
            })
            .await;
            assert_eq!(left().await, (1, 1, 0), "the job that came later is still there, with its key");
        }
    }
}

#[tokio::test]
async fn a_large_bucket_is_examined_a_bounded_part_in_each_script() {
    const JOBS: usize = 20;
    let redis = TestRedis::start().await;
    for (kind, name) in [(Kind::Stream, "s"), (Kind::List, "l")] {
        let settings = BucketSettings { kind, capacity: 10_000, ..buckets::settings(name) };
        let bucket = open(&redis, settings).await;
        for _ in 0..JOBS {
            submit(&bucket, buckets::job("x".repeat(1 << 20))).await;
        }
        let scripts = async || redis.calls("evalsha").await + redis.calls("eval").await;
        let before = scripts().await;
        assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
        let least = JOBS as u64;
        assert!(scripts().await - before >= least, "{name}: all that is there in fewer than {least} scripts");
    }
}

#[tokio::test]
async fn nothing_is_found_while_jobs_come_and_go() {
    let redis = TestRedis::start().await;
    for (kind, name) in [(Kind::Stream, "s"), (Kind::List, "l")] {
        let settings = BucketSettings { kind, capacity: 10_000, ..buckets::settings(name) };
        let bucket = open(&redis, settings).await;
        let replica = join(&bucket, "a").await;
        let fill = |many: usize| (0..many).map(|n| buckets::job(n.to_string())).collect();
        bucket.admit_many(fill(2000)).await;
        let busy = tokio::spawn({
            let (bucket, replica) = (bucket.clone(), replica.clone());
            async move {
                loop {
                    bucket.admit_many(fill(20)).await;
                    let mut taken = take(&replica, 30).await.into_iter();
                    settle(&replica, taken.next().unwrap(), Settlement::Requeue).await;
                    settle(&replica, taken.next().unwrap(), buried("no luck")).await;
                    for taken in taken.by_ref().take(15) {
                        settle(&replica, taken, DELIVERED).await;
                    }
                    for taken in taken {
                        let wait = Duration::from_millis(1);
                        let retry = match kind {
                            Kind::Stream => Settlement::Retry { after: wait },
                            Kind::List => Settlement::Requeue,
                        };
                        settle(&replica, taken, retry).await;
                    }
                }
            }
        });
        for _ in 0..10 {
            assert_eq!(bucket.examine(true).await.unwrap().findings, [], "{name}");
        }
        busy.abort();
        let _ = busy.await;
        assert_eq!(bucket.examine(false).await.unwrap(), Examination::default(), "{name}");
    }
}

/// The new outcome replaces the other one, and only reading that would show by how much.
#[tokio::test]
async fn an_outcome_of_a_job_that_ended_twice_is_counted_once() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    for _ in 0..2 {
        submit(&bucket, buckets::job("x")).await;
    }
    let twice = take_one(&replica).await;
    let id = twice.claim.id().to_string();
    settle(&replica, twice, DELIVERED).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    run(&store, &["DEL", "dripfeed:{b}:jobs"]).await;
    run(&store, &["XADD", "dripfeed:{b}:jobs", &id, "body", "x"]).await;
    run(&store, &["XGROUP", "CREATE", "dripfeed:{b}:jobs", "processors", "0"]).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert_eq!(kinds(&bucket, true).await, [FindingKind::OutcomeBytesMiscounted]);
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    assert_eq!(store.command::<u64>(redis::cmd("HLEN").arg("dripfeed:{b}:outcomes")).await.unwrap(), 2);
}
