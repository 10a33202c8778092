//! Promise 9: One job per idempotency key, also under a hundred parallel requests and after an unknown outcome.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dripfeed_bucket::{Admission, Bucket, JobFilter, RefusalReason};
use dripfeed_job::fingerprint::fingerprint;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{StartTime, Submission};
use dripfeed_store::{Durability, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets::{self, admitted};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use dripfeed_tests::wall_clock::WallClock;
use futures::future::join_all;

async fn service(upstream: &Upstream) -> Service {
    Service::new(&format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 1000", upstream.url())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_parallel_requests_over_two_intakes_make_one_job() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let clients = [service.intake().await, service.intake().await].map(|intake| (intake.client(), intake));
    let _processor = service.processor().await;
    let requests = (0..100).map(|n| clients[n % 2].0.submit_once("b", "order 7", "seven"));
    let answers = join_all(requests).await;
    let ids: BTreeSet<String> = answers
        .into_iter()
        .map(|answer| answer.expect("an answer"))
        .inspect(|answer| assert_eq!(answer.status, 202, "{answer:?}"))
        .map(|answer| answer.text("id"))
        .collect();
    assert_eq!(ids.len(), 1);
    service.drained("b").await;
    assert_eq!(upstream.calls().len(), 1);

    // Also after the job has ended. A submission with another body isn't a repetition.
    let again = clients[0].0.submit_once("b", "order 7", "seven").await.expect("an answer");
    assert_eq!((again.status, ids.contains(&again.text("id"))), (202, true));
    let other = clients[1].0.submit_once("b", "order 7", "eight").await.expect("an answer");
    assert_eq!((other.status, other.text("code").as_str()), (409, "idempotency_conflict"));
    assert_eq!(service.counts("b").await.accepted, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_unknown_outcome_the_same_request_makes_no_second_job() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let client = intake.client();
    // Redis gets the request, and executes it when it resumes: the reply comes too late.
    service.redis.server.pause().unwrap();
    let asked = join_all((0..20).map(|n| {
        let client = client.clone();
        async move { client.submit_once("b", &format!("order {n}"), format!("{n}")).await.expect("an answer") }
    }))
    .await;
    service.redis.server.resume().unwrap();
    for answer in &asked {
        assert_eq!((answer.status, answer.text("code").as_str()), (503, "store_unavailable"), "{answer:?}");
    }
    let unknown = asked.iter().filter(|answer| answer.text("outcome") == "unknown").count() as u64;
    assert!(unknown > 0, "none was on its way: this shows nothing");
    until("the intake reaches Redis again", async || {
        client.get("/v1/buckets/b").await.is_ok_and(|answer| answer.status == 200)
    })
    .await;
    until("and so does this test", async || service.store().ping().await.is_ok()).await;
    let stored = service.counts("b").await.accepted;
    assert!(stored <= unknown, "{stored} were stored, and only of {unknown} was it said that they may be");
    for n in 0..20 {
        let again = client.submit_once("b", &format!("order {n}"), format!("{n}")).await.expect("an answer");
        assert_eq!(again.status, 202, "{again:?}");
    }
    let _processor = service.processor().await;
    service.drained("b").await;
    let bodies: Vec<String> = upstream.calls().iter().map(|call| call.text().to_owned()).collect();
    assert_eq!((bodies.len(), bodies.iter().collect::<BTreeSet<_>>().len()), (20, 20), "{bodies:?}");
    assert_eq!(service.counts("b").await.accepted, 20);
}

/// This holds without a key, too: the bucket itself repeats the submission, with its own token.
#[tokio::test]
async fn when_the_answer_comes_too_late_the_job_is_asked_for_again_and_is_one() {
    let redis = TestRedis::start().await;
    let hasty = RedisSettings {
        response_timeout: Duration::from_millis(100),
        ..RedisSettings::new(redis.server.address(), "dripfeed", Durability::Everysec)
    };
    let bucket = Bucket::new(Store::connect(&hasty).await.unwrap(), buckets::settings("b"));
    let calm = Bucket::new(redis.store().await, buckets::settings("b"));
    buckets::submit(&calm, buckets::job("Redis knows the script from now on")).await;
    let mut before = 1;
    for tries in 1.. {
        // Redis executes all calls that were sent meanwhile when it resumes, one after the other.
        redis.server.pause().unwrap();
        let submitting = tokio::spawn({
            let bucket = bucket.clone();
            async move { bucket.admit(buckets::job("x")).await }
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
        redis.server.resume().unwrap();
        let submitted = submitting.await.unwrap();
        let jobs = calm.jobs(&JobFilter::default(), None, 100).await.unwrap().items;
        assert!(jobs.len() <= before + 1, "it was stored twice: {jobs:?}");
        match submitted {
            Ok(_) => {
                let id = admitted(submitted).id;
                assert_eq!((jobs.len(), jobs.last().unwrap().id), (before + 1, id), "{jobs:?}");
                return;
            }
            // The machine was suspended for longer than the bucket repeats a submission.
            Err(error) => assert!(tries < 50, "{error}"),
        }
        before = jobs.len();
    }
}

#[tokio::test]
async fn a_callers_key_never_names_another_callers_job() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, buckets::settings("b")).await;
    let callers = [None, Some("shop"), Some("shop:order"), Some("partner")];
    let order = |caller: Option<&str>, body: &str| Submission {
        caller: caller.map(str::to_owned),
        idempotency_key: IdempotencyKey::parse("order-17").ok(),
        ..buckets::job(body)
    };
    let mut ids = BTreeSet::new();
    for caller in callers {
        // Each job has its own body, so that a shared key would be a conflict.
        let admitted = buckets::submit(&bucket, order(caller, &format!("{caller:?}"))).await;
        assert!(!admitted.repeated && ids.insert(admitted.id), "{caller:?} got the job of another: {admitted:?}");
        let again = buckets::submit(&bucket, order(caller, &format!("{caller:?}"))).await;
        assert_eq!((again.repeated, again.id), (true, admitted.id), "{caller:?}");
    }
}

fn order(n: usize) -> Submission {
    Submission { idempotency_key: IdempotencyKey::parse(&format!("order {n}")).ok(), ..buckets::job("the same") }
}

/// The numbers of idempotency keys: as strings, of jobs in the bucket, and of ended jobs.
async fn held(redis: &TestRedis) -> (usize, usize, usize) {
    let store = redis.store().await;
    let names: Vec<String> = store.command(redis::cmd("KEYS").arg("dripfeed:{b}:once*")).await.unwrap();
    let jobs = store.command(redis::cmd("HLEN").arg("dripfeed:{b}:idempotency:jobs")).await.unwrap();
    let ends = store.command(redis::cmd("ZCARD").arg("dripfeed:{b}:idempotency:ends")).await.unwrap();
    (names.len(), jobs, ends)
}

/// The Redis clock, in µs.
async fn now_us(redis: &TestRedis) -> u64 {
    let (s, us): (u64, u64) = redis.ask("TIME").await;
    s * 1_000_000 + us
}

/// Waits until this many ms have passed on the Redis clock.
async fn passed(redis: &TestRedis, ms: u64) {
    let begun = now_us(redis).await;
    until("the clock goes on", async || now_us(redis).await > begun + ms * 1000).await;
}

#[tokio::test]
async fn a_key_names_its_job_for_as_long_as_that_lives_and_then_for_the_window() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.keep.idempotency_keys = Duration::from_millis(1);
    let bucket = buckets::open(&redis, settings.clone()).await;
    let late = Submission { start: StartTime::After(Duration::from_hours(1)), ..order(1) };
    let first = buckets::submit(&bucket, late.clone()).await;
    passed(&redis, 10).await;
    bucket.enforce_retention().await.unwrap();
    let again = buckets::submit(&bucket, late.clone()).await;
    assert_eq!((again.repeated, again.id), (true, first.id), "its job is still to come");
    // The window begins when the job ends.
    settings.keep.idempotency_keys = Duration::from_hours(1);
    bucket.reconfigure(settings.clone());
    bucket.cancel(first.id).await.unwrap();
    bucket.enforce_retention().await.unwrap();
    let again = buckets::submit(&bucket, late.clone()).await;
    assert_eq!((again.repeated, again.id), (true, first.id), "the window isn't over");
    assert_eq!(held(&redis).await, (1, 0, 1));
    // The window ends.
    settings.keep.idempotency_keys = Duration::from_millis(1);
    bucket.reconfigure(settings);
    let second = buckets::submit(&bucket, order(2)).await;
    bucket.cancel(second.id).await.unwrap();
    passed(&redis, 10).await;
    let anew = buckets::submit(&bucket, order(2)).await;
    assert!(!anew.repeated && anew.id != second.id, "forgotten on time, also before its key is deleted");
    bucket.cancel(anew.id).await.unwrap();
    passed(&redis, 10).await;
    bucket.enforce_retention().await.unwrap();
    assert_eq!(held(&redis).await, (1, 0, 1), "what is forgotten is gone");
}

#[tokio::test]
async fn a_keys_window_begins_however_its_job_ends() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.deliveries = 1;
    let window_ms = settings.keep.idempotency_keys.as_millis() as u64;
    let bucket = buckets::open(&redis, settings).await;
    let replica = buckets::join(&bucket, "replica").await;
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(buckets::submit(&bucket, order(n)).await.id);
    }
    let mut taken = buckets::take(&replica, 3).await.into_iter();
    let first_ended = now_us(&redis).await / 1000;
    buckets::settle(&replica, taken.next().unwrap(), buckets::DELIVERED).await;
    buckets::settle(&replica, taken.next().unwrap(), buckets::buried("rejected")).await;
    bucket.declare_dead(replica.consumer()).await.unwrap();
    let ephemeral = Submission { expires_in: Some(Duration::from_millis(1)), ..order(3) };
    ids.push(buckets::submit(&bucket, ephemeral).await.id);
    passed(&redis, 5).await;
    assert!(buckets::takes_nothing(&buckets::join(&bucket, "another").await).await);
    ids.push(buckets::submit(&bucket, order(4)).await.id);
    bucket.cancel(ids[4]).await.unwrap();
    ids.push(buckets::submit(&bucket, order(5)).await.id);
    assert_eq!(bucket.purge().await.unwrap(), 1);
    assert_eq!(bucket.census().await.unwrap().level, 0);
    let last_ended = now_us(&redis).await / 1000;
    assert_eq!(held(&redis).await, (6, 0, 6));
    let ends: Vec<(String, u64)> = redis.ask("ZRANGE dripfeed:{b}:idempotency:ends 0 -1 WITHSCORES").await;
    for (name, forgotten) in ends {
        let ended = forgotten - window_ms;
        assert!((first_ended..=last_ended).contains(&ended), "{name}: {ended}, {first_ended} to {last_ended}");
    }
    for (n, id) in ids.into_iter().enumerate() {
        let again = buckets::submit(&bucket, order(n)).await;
        assert_eq!((again.repeated, again.id), (true, id), "{n}");
    }
}

#[tokio::test]
async fn a_key_is_known_for_the_whole_window_and_no_longer() {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let settings = buckets::settings("b");
    let window = settings.keep.idempotency_keys.as_secs() as i64;
    let bucket = buckets::open(&redis, settings).await;
    let first = buckets::submit(&bucket, order(1)).await;
    bucket.cancel(first.id).await.unwrap();
    redis.set_clock(&clock, window - 60).await;
    bucket.enforce_retention().await.unwrap();
    let again = buckets::submit(&bucket, order(1)).await;
    assert_eq!((again.repeated, again.id), (true, first.id), "a minute before the end of the window");
    redis.set_clock(&clock, window + 60).await;
    let another = buckets::submit(&bucket, order(1)).await;
    assert!(!another.repeated && another.id != first.id, "a minute after it");
}

#[tokio::test]
async fn at_the_most_keys_new_ones_are_refused_and_none_is_forgotten_early() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.keep.most_idempotency_keys = 5;
    settings.keep.idempotency_keys = Duration::from_hours(1);
    let bucket = buckets::open(&redis, settings.clone()).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(buckets::submit(&bucket, order(n)).await.id);
    }
    let refused = async |n: usize| buckets::refused(bucket.admit(order(n)).await);
    let full = refused(5).await;
    assert_eq!(full.reason, RefusalReason::IdempotencyKeysFull);
    assert!(full.retry_after.unwrap() >= Duration::from_hours(1), "none of them has ended: {full:?}");
    buckets::submit(&bucket, buckets::job("without a key")).await;
    bucket.cancel(ids[0]).await.unwrap();
    let full = refused(5).await;
    assert!(full.retry_after.is_some_and(|wait| wait <= Duration::from_secs(3603)), "{full:?}");
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(buckets::submit(&bucket, order(n)).await.id, *id, "known as before");
    }
    assert_eq!(held(&redis).await, (5, 4, 1));
    // A batch gets no more keys than there is room for.
    settings.keep.idempotency_keys = Duration::from_millis(1);
    bucket.reconfigure(settings);
    bucket.cancel(ids[1]).await.unwrap();
    passed(&redis, 10).await;
    let full = refused(5).await;
    assert!(full.retry_after.is_some_and(|wait| wait < Duration::from_secs(3)), "forgotten in time: {full:?}");
    bucket.enforce_retention().await.unwrap();
    let batch = bucket.admit_many((10..13).map(order).collect()).await;
    let admitted = batch.into_iter().filter(|one| matches!(one, Ok(Admission::Admitted(_)))).count();
    assert_eq!((admitted, held(&redis).await), (1, (5, 4, 1)));
}

/// An earlier version wrote keys as strings with a TTL, and counted them nowhere.
#[tokio::test]
async fn a_key_of_an_earlier_version_is_known_until_its_time_is_over() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, buckets::settings("b")).await;
    let store = redis.store().await;
    let mut set = redis::cmd("SET");
    set.arg("dripfeed:{b}:once:order 1")
        .arg(format!("1700000000000-0 {}", fingerprint(&order(1))))
        .arg("PX")
        .arg(60_000);
    let _: String = store.command(&set).await.unwrap();
    let again = buckets::submit(&bucket, order(1)).await;
    assert_eq!((again.repeated, again.id.to_string().as_str()), (true, "1700000000000-0"));
    let _: u64 = store.command(redis::cmd("PEXPIRE").arg("dripfeed:{b}:once:order 1").arg(1)).await.unwrap();
    passed(&redis, 10).await;
    assert!(!buckets::submit(&bucket, order(1)).await.repeated);
    assert_eq!(held(&redis).await, (1, 1, 0));
}

/// How long Redis remembers the response to a submission.
const REMEMBERED: Duration = Duration::from_secs(10);
const SETTLED: Duration = Duration::from_millis(1100);
/// After a failed attempt nobody retries within this time.
const BETWEEN_TRIES: Duration = Duration::from_millis(40);

/// After Redis has forgotten the response to a submission, a repetition would add a second job.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the thread is to stand still, and all tasks with it")]
async fn a_process_that_stood_still_does_not_submit_again_what_may_be_stored() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let address = proxy.url().parse().expect("an address");
    let store = Store::connect(&RedisSettings::new(address, "dripfeed", Durability::Everysec)).await.unwrap();
    let bucket = Bucket::new(store.clone(), buckets::settings("b"));
    buckets::submit(&bucket, buckets::job("Redis knows the script from now on")).await;
    for jobs in 2.. {
        // A connection is replaced at once only if it lasted for a while.
        tokio::time::sleep(SETTLED).await;
        let connections = proxy.calls("HELLO");
        proxy.plan("admit", ProxyFault::Close, 1);
        let submitting = tokio::spawn({
            let bucket = bucket.clone();
            async move { bucket.admit(buckets::job("x")).await }
        });
        proxy.done("admit").await;
        let lost = Instant::now();
        while proxy.calls("HELLO") == connections {
            tokio::task::yield_now().await;
        }
        store.connected().await;
        let is_between_tries = lost.elapsed() < BETWEEN_TRIES;
        if is_between_tries {
            // All tasks of this process run on this thread, so they stand still.
            std::thread::sleep(REMEMBERED);
        }
        let submitted = submitting.await.unwrap();
        assert_eq!(redis.ask::<u64>("XLEN dripfeed:{b}:jobs").await, jobs, "{submitted:?}");
        if is_between_tries {
            return;
        }
        assert!(jobs < 20, "the machine is too slow to stop between two tries");
    }
}
