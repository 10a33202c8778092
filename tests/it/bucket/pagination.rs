//! Pages of a bucket's contents are bounded by bytes: both what one script reads and what it returns.

use std::collections::BTreeSet;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::{Ending, JobId, JobState, StartTime, Submission};
use dripfeed_store::Store;
use dripfeed_tests::buckets::{
    self, DELIVERED, NO_FILTER, buried, join, open, settle, submit, take_one, takes_nothing,
};
use dripfeed_tests::redis_server::TestRedis;

const BODY: usize = 1 << 20;
/// Several times as many jobs as one script may read.
const JOBS: usize = 20;

fn of_kind(kind: Kind) -> BucketSettings {
    BucketSettings { kind, capacity: 10_000, ..buckets::settings("b") }
}

fn large() -> Submission {
    buckets::job("x".repeat(BODY))
}

fn delayed(submission: Submission) -> Submission {
    Submission { start: StartTime::After(Duration::from_hours(1)), ..submission }
}

async fn info(store: &Store, section: &str, name: &str) -> usize {
    let text: String = store.command(redis::cmd("INFO").arg(section)).await.expect("Redis answers");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("a figure").parse().expect("a number")
}

/// The bytes that Redis sends during `done`.
async fn sent<T>(store: &Store, done: impl Future<Output = T>) -> (T, usize) {
    let before = info(store, "stats", "total_net_output_bytes").await;
    let done = done.await;
    (done, info(store, "stats", "total_net_output_bytes").await - before)
}

/// The memory of Lua, which contains all that scripts have read until it is collected.
async fn lua_has_read(store: &Store) -> usize {
    info(store, "memory", "used_memory_lua").await
}

/// Reads all pages of at most `limit` jobs. Returns the jobs and the number of pages.
async fn all(bucket: &Bucket, state: Option<JobState>, limit: usize) -> (Vec<JobId>, usize) {
    let (mut ids, mut pages, mut after) = (Vec::new(), 0, None);
    loop {
        let page = bucket
            .jobs(&JobFilter { state, ..JobFilter::default() }, after.as_ref(), limit)
            .await
            .expect("Redis answers");
        assert!(page.items.len() <= limit);
        ids.extend(page.items.iter().map(|job| job.id));
        pages += 1;
        after = page.next;
        if after.is_none() {
            return (ids, pages);
        }
    }
}

#[tokio::test]
async fn a_page_of_jobs_reads_no_more_than_a_script_may() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, of_kind(Kind::Stream)).await);
    let mut parked = Vec::new();
    for _ in 0..JOBS {
        parked.push(submit(&bucket, delayed(large())).await.id);
    }
    let replica = join(&bucket, "a").await;
    while bucket.census().await.unwrap().parked < JOBS as u64 {
        assert!(takes_nothing(&replica).await);
    }
    let mut waiting = Vec::new();
    for _ in 0..JOBS {
        waiting.push(submit(&bucket, large()).await.id);
    }
    redis.ask::<String>("SCRIPT FLUSH").await;
    let before = lua_has_read(&store).await;
    for state in [None, Some(JobState::Parked), Some(JobState::Waiting), Some(JobState::InFlight)] {
        let page = bucket.jobs(&JobFilter { state, ..JobFilter::default() }, None, 1000).await.unwrap();
        assert!(state == Some(JobState::InFlight) || !page.items.is_empty() && page.next.is_some(), "{state:?}");
        let read = lua_has_read(&store).await.saturating_sub(before);
        assert!(read < 8 * BODY, "{state:?}: {read} bytes in Lua for one page");
    }
    assert_eq!(all(&bucket, Some(JobState::Parked), 1000).await.0, parked);
    assert_eq!(all(&bucket, Some(JobState::Waiting), 3).await.0, waiting);
    assert_eq!(all(&bucket, Some(JobState::InFlight), 1000).await.0, []);
    assert_eq!(all(&bucket, None, 1000).await.0, [parked, waiting].concat());
}

#[tokio::test]
async fn small_jobs_fill_a_page() {
    let redis = TestRedis::start().await;
    for (kind, name) in [(Kind::Stream, "s"), (Kind::List, "l")] {
        let settings = BucketSettings { name: name.parse().unwrap(), ..of_kind(kind) };
        let bucket = open(&redis, settings).await;
        let admitted = bucket.admit_many((0..1200).map(|n| buckets::job(n.to_string())).collect()).await;
        let ids: Vec<JobId> = admitted.into_iter().map(|answer| buckets::admitted(answer).id).collect();
        let (listed, pages) = all(&bucket, None, 1000).await;
        assert_eq!((listed == ids, pages), (true, 2), "{name}");
        assert_eq!(all(&bucket, Some(JobState::Waiting), 100).await.0, ids, "{name}");
    }
}

#[tokio::test]
async fn a_list_is_looked_through_a_bounded_part_in_each_script() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, of_kind(Kind::List)).await);
    let mut ids = Vec::new();
    for _ in 0..JOBS {
        ids.push(submit(&bucket, large()).await.id);
    }
    let replica = join(&bucket, "a").await;
    let taken = take_one(&replica).await;
    let before = lua_has_read(&store).await;
    assert_eq!(bucket.find(ids[0]).await.unwrap().unwrap().state, JobState::InFlight);
    assert_eq!(bucket.find(ids[1]).await.unwrap().unwrap().state, JobState::Waiting);
    assert_eq!(all(&bucket, None, 7).await.0, ids);
    assert_eq!(bucket.cancel(ids[1]).await.unwrap(), CancelResult::Cancelled);
    assert_eq!(bucket.cancel(ids[0]).await.unwrap(), CancelResult::InFlight);
    assert_eq!(bucket.cancel(JobId::new(1, 0)).await.unwrap(), CancelResult::Unknown);
    // Garbage is collected when it is as large as the memory in use.
    let read = lua_has_read(&store).await.saturating_sub(before);
    assert!(read < 16 * BODY, "{read} bytes in Lua");

    settle(&replica, taken, DELIVERED).await;
    let looked = async || redis.calls("lindex").await + redis.calls("lrange").await;
    let before = looked().await;
    let found = bucket.find(ids[0]).await.unwrap().unwrap();
    assert_eq!((found.state, looked().await), (JobState::Ended(Ending::Delivered), before), "no element was looked at");
}

async fn bury(bucket: &Bucket, replica: &Replica, submission: Submission) -> JobId {
    let id = submit(bucket, submission).await.id;
    settle(replica, take_one(replica).await, buried("no luck")).await;
    id
}

#[tokio::test]
async fn dead_letters_come_in_pages_bounded_by_bytes_and_bodies_of_replays_stay_in_redis() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    for (kind, name) in [(Kind::Stream, "s"), (Kind::List, "l")] {
        let bucket = open(&redis, BucketSettings { name: name.parse().unwrap(), ..of_kind(kind) }).await;
        let replica = join(&bucket, "a").await;
        let mut ids = Vec::new();
        for _ in 0..JOBS {
            ids.push(bury(&bucket, &replica, large()).await);
        }
        let other = bury(&bucket, &replica, Submission { caller: Some("alice".to_owned()), ..buckets::job("y") }).await;

        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = bucket.dead_letters(&NO_FILTER, after.as_ref(), 1000);
            let (page, bytes) = sent(&store, page).await;
            let page = page.unwrap();
            assert!(bytes < 3 * BODY, "{name}: {bytes} bytes for a page");
            seen.extend(page.items.iter().map(|letter| letter.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, [&ids[..], &[other]].concat(), "{name}");

        let alices = DeadFilter { caller: Some("alice".to_owned()), reason: Some("luck".to_owned()), ..NO_FILTER };
        let (page, bytes) = sent(&store, bucket.dead_letters(&alices, None, 1000)).await;
        let found: Vec<JobId> = page.unwrap().items.iter().map(|letter| letter.id).collect();
        assert_eq!(found, [other], "{name}");
        assert!(bytes < BODY, "{name}: {bytes} bytes for one small letter");

        let (replayed, bytes) = sent(&store, bucket.replay_many(&NO_FILTER, None)).await;
        assert_eq!(replayed.unwrap(), ReplayCounts { replayed: JOBS as u64 + 1, left: 0 }, "{name}");
        assert!(bytes < BODY, "{name}: {bytes} bytes to replay");
    }
}

#[tokio::test]
async fn outcomes_come_in_pages_bounded_by_bytes_and_a_report_loads_no_answers() {
    let redis = TestRedis::start().await;
    let mut settings = of_kind(Kind::Stream);
    settings.keep.answer_bytes = BODY as u64;
    let (store, bucket) = (redis.store().await, open(&redis, settings).await);
    let replica = join(&bucket, "a").await;
    let mut ids = BTreeSet::new();
    for _ in 0..JOBS {
        ids.insert(submit(&bucket, buckets::job("x")).await.id);
        let answer = Some(AnswerBody::new(None, &vec![b'x'; BODY], false));
        settle(&replica, take_one(&replica).await, Settlement::Complete { status: 200, answer }).await;
    }
    let (mut seen, mut after) = (BTreeSet::new(), None);
    loop {
        let (page, bytes) = sent(&store, bucket.outcomes(TimeWindow::default(), None, after.as_ref(), 1000)).await;
        let page = page.unwrap();
        assert!(bytes < 3 * BODY, "{bytes} bytes for a page");
        seen.extend(page.items.iter().map(|ended| ended.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let dead = bucket.outcomes(TimeWindow::default(), Some(Ending::Dead), None, 1000).await.unwrap();
    assert!(dead.items.is_empty());
    let (report, bytes) = sent(&store, bucket.report(Duration::from_hours(1))).await;
    let report = report.unwrap();
    assert_eq!((report.ended[0], report.attempts), ((Ending::Delivered, JOBS as u64), JOBS as u64));
    assert!(report.latency.is_some());
    assert!(bytes < BODY, "{bytes} bytes for a report");
}

#[tokio::test]
async fn an_outcome_page_goes_on_where_thousands_ended_in_one_millisecond() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, of_kind(Kind::Stream)).await);
    let mut ended = redis::pipe();
    for n in 0..2500 {
        // Half of the outcomes are as in an earlier release, with a member for each job.
        let (record, ids) = match n {
            1250.. => (r#"1700000000000 {"result":"cancelled","attempts":0}"#, format!("{n}-0")),
            _ => ("1700000000000 delivered 200 1", format!("{}-0 {}-0", n, n + 1)),
        };
        ended.hset("dripfeed:{b}:outcomes", format!("{n}-0"), record).ignore();
        if n >= 1250 || n % 2 == 0 {
            ended.zadd("dripfeed:{b}:outcomes:ended", ids, 1_700_000_000_000_u64).ignore();
        }
    }
    for command in ended.cmd_iter() {
        store.command::<()>(command).await.unwrap();
    }
    let (mut seen, mut after) = (BTreeSet::new(), None);
    let since = TimeWindow { since_ms: Some(1_700_000_000_000), until_ms: None };
    loop {
        let page = bucket.outcomes(since, None, after.as_ref(), 1000).await.unwrap();
        for ended in &page.items {
            assert!(seen.insert(ended.id), "{} twice", ended.id);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 2500);
}

#[tokio::test]
async fn jobs_added_during_the_purge_of_a_list_do_not_prolong_it() {
    const OLD: usize = 3000;
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, of_kind(Kind::List)).await);
    let mut push = redis::cmd("LPUSH");
    push.arg("dripfeed:{b}:jobs").arg(vec!["foreign"; OLD]);
    store.command::<u64>(&push).await.unwrap();
    let purging = tokio::spawn({
        let bucket = bucket.clone();
        async move { bucket.purge().await.unwrap() }
    });
    let mut added = 0;
    while !purging.is_finished() {
        // More jobs than one script of a purge removes.
        let mut push = redis::cmd("LPUSH");
        push.arg("dripfeed:{b}:jobs").arg(vec!["later"; 600]);
        store.command::<u64>(&push).await.unwrap();
        added += 600;
        assert!(added < 100 * OLD, "it doesn't end");
    }
    assert!(purging.await.unwrap() < 2 * OLD as u64);
    assert!(bucket.census().await.unwrap().level > 0);
}

#[tokio::test]
async fn parked_jobs_that_came_after_a_purge_began_stay() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, of_kind(Kind::Stream)).await);
    let replica = join(&bucket, "a").await;
    let park = async |most: usize| {
        let jobs = (0..most).map(|n| delayed(buckets::job(n.to_string()))).collect();
        bucket.admit_many(jobs).await;
        let mut parked = bucket.census().await.unwrap().waiting;
        while parked > 0 {
            assert!(takes_nothing(&replica).await);
            parked = bucket.census().await.unwrap().waiting;
        }
    };
    park(2000).await;
    let purging = tokio::spawn({
        let bucket = bucket.clone();
        async move { bucket.purge().await.unwrap() }
    });
    while bucket.census().await.unwrap().level == 2000 {
        tokio::task::yield_now().await;
    }
    let begun = bucket.census().await.unwrap();
    park(100).await;
    assert!(begun.level > 0, "the purge has ended too early for this test");
    assert_eq!(purging.await.unwrap(), 2000);
    assert_eq!(bucket.census().await.unwrap().parked, 100);
    assert_eq!(store.command::<u64>(redis::cmd("ZCARD").arg("dripfeed:{b}:parked")).await.unwrap(), 100);
}

#[tokio::test]
async fn a_foreign_caller_that_is_no_utf_8_breaks_no_page() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, of_kind(Kind::Stream)).await);
    let add = async || {
        let mut add = redis::cmd("XADD");
        add.arg("dripfeed:{b}:jobs").arg("*").arg("body").arg("x").arg("due").arg(b"\xff");
        add.arg("caller").arg([b"a\xff".as_slice(), &[b'b'; 5000]].concat());
        store.command::<String>(&add).await.unwrap().parse::<JobId>().unwrap()
    };
    let is_shown = |caller: Option<String>| {
        let caller = caller.expect("a caller");
        assert!(caller.starts_with("a\u{fffd}b") && caller.len() < 300, "{caller}");
    };
    let id = add().await;
    is_shown(bucket.jobs(&JobFilter::default(), None, 10).await.unwrap().items.remove(0).caller);
    is_shown(bucket.find(id).await.unwrap().unwrap().caller);
    let replica = join(&bucket, "a").await;
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    assert_eq!(bucket.dead_letters(&NO_FILTER, None, 10).await.unwrap().items[0].id, id);
    assert!(bucket.dead_letter(id).await.unwrap().is_some());

    let cancelled = add().await;
    assert_eq!(bucket.purge().await.unwrap(), 1);
    let page = bucket.outcomes(TimeWindow::default(), Some(Ending::Cancelled), None, 10).await.unwrap();
    assert_eq!(page.items[0].id, cancelled);
    is_shown(page.items[0].outcome.caller.clone());
    is_shown(bucket.find(cancelled).await.unwrap().unwrap().caller);
    assert_eq!(bucket.report(Duration::from_hours(1)).await.unwrap().ended[3], (Ending::Cancelled, 1));

    let mut group = redis::cmd("XGROUP");
    group.arg("CREATECONSUMER").arg("dripfeed:{b}:jobs").arg("processors").arg(b"\xfe");
    store.command::<i64>(&group).await.unwrap();
    let id = add().await;
    let mut read = redis::cmd("XREADGROUP");
    read.arg("GROUP").arg("processors").arg(b"\xfe").arg("STREAMS").arg("dripfeed:{b}:jobs").arg(">");
    store.command::<redis::Value>(&read).await.unwrap();
    assert_eq!(
        bucket.jobs(&JobFilter::default(), None, 10).await.unwrap().items[0].consumer.as_deref(),
        Some("\u{fffd}")
    );
    assert_eq!(bucket.find(id).await.unwrap().unwrap().state, JobState::InFlight);
    assert_eq!(bucket.census().await.unwrap().in_flight, 1);
}
