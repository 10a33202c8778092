//! The pace with several tiers, and its changes.

mod refunds;
/// Windows of the clock beside a rate.
mod windows;

use std::time::{Duration, Instant};

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{StartTime, Submission};
use dripfeed_tests::buckets::{
    self, DELIVERED, admitted, changed, job, join, open, settle, submit, take, take_one, takes_nothing,
};
use dripfeed_tests::machine;
use dripfeed_tests::machine::stalls::Stalls;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::PATIENCE;
use serde_json::{Value as Json, json};
use tokio::time::{sleep, timeout};

fn tiers(tiers: Json) -> PaceTiers {
    let Json::Array(tiers) = tiers else { panic!("a list of tiers") };
    PaceTiers::read("tiers", tiers).unwrap_or_else(|error| panic!("{error}"))
}

fn paced(rate: Option<&str>, burst: u64, tiers: PaceTiers) -> BucketSettings {
    let mut settings = buckets::settings("b");
    settings.capacity = 5000;
    settings.leak = Leak { rate: rate.map(|rate| rate.parse().unwrap()), burst, tiers, ..settings.leak };
    settings
}

async fn with_jobs(redis: &TestRedis, settings: BucketSettings, jobs: usize) -> Bucket {
    let bucket = open(redis, settings).await;
    for answer in bucket.admit_many((0..jobs).map(|n| job(n.to_string())).collect()).await {
        admitted(answer);
    }
    bucket
}

#[tokio::test]
async fn jobs_that_wait_for_tokens_are_asked_for_once_for_each_token() {
    const JOBS: usize = 20;
    const MOST_RUNS: usize = 8;
    for run in 1.. {
        let redis = TestRedis::start().await;
        let bucket = with_jobs(&redis, paced(Some("50/s"), 1, PaceTiers::default()), JOBS).await;
        let replica = join(&bucket, "a").await;
        let stalls = Stalls::watch(redis.store().await);
        let questions = questions_until_called(&replica, JOBS).await;
        if questions <= JOBS + 2 {
            return;
        }
        // A grant that is lost by a late reply is requested again.
        assert!(stalls.were_there() && run < MOST_RUNS, "{questions} for {JOBS}");
    }
}

async fn questions_until_called(replica: &Replica, jobs: usize) -> usize {
    let (mut questions, mut called) = (0, 0);
    while called < jobs {
        questions += 1;
        let idle = match replica.take(10).await.unwrap() {
            Take::Jobs(jobs, idle) => {
                for taken in jobs {
                    settle(replica, taken, DELIVERED).await;
                    called += 1;
                }
                idle
            }
            Take::Idle(idle) => Some(idle),
            Take::Fenced => panic!("declared dead"),
        };
        if let Some(idle) = idle {
            replica.wait(&idle).await;
        }
    }
    questions
}

#[tokio::test]
async fn calls_are_granted_ahead_of_their_tokens_and_wait_for_these() {
    const JOBS: usize = 100;
    let period = Duration::from_millis(1);
    let redis = TestRedis::start().await;
    let bucket = with_jobs(&redis, paced(Some("1000/s"), 1, PaceTiers::default()), JOBS).await;
    let replica = join(&bucket, "a").await;
    let (mut most, mut spent) = (0, Vec::new());
    let begun = Instant::now();
    while spent.len() < JOBS {
        match replica.take(JOBS).await.unwrap() {
            Take::Jobs(jobs, _) => {
                most = most.max(jobs.len());
                for taken in jobs {
                    // A permit that is too late is charged, but not used.
                    taken.permit.spend().await;
                    spent.push(begun.elapsed());
                }
            }
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => panic!("declared dead"),
        }
    }
    assert!(most > 1, "each token was asked for alone");
    for (others, at) in spent.into_iter().enumerate() {
        assert!(at >= period * u32::try_from(others).unwrap(), "{others} calls before {at:?}");
    }
}

#[tokio::test]
async fn all_tiers_must_pass_with_a_rate_or_without() {
    let redis = TestRedis::start().await;
    let day = json!({ "kind": "fixed", "limit": 3, "period": "366d" });
    for rate in [Some("1000/s"), None] {
        let bucket = with_jobs(&redis, paced(rate, 1000, tiers(json!([day]))), 5).await;
        let replica = join(&bucket, "a").await;
        assert_eq!(take(&replica, 5).await.len(), 3);
        assert!(takes_nothing(&replica).await);
        let pace = bucket.census().await.unwrap().pace;
        assert_eq!((pace.reason, pace.effective_per_s, pace.tokens), ("used_up", Some(0.0), Some(0)));
        redis.store().await.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
    }
}

#[tokio::test]
async fn a_quota_of_which_nothing_was_used_is_shown_whole() {
    let redis = TestRedis::start().await;
    let day = json!({ "kind": "fixed", "limit": 3, "period": "366d" });
    let bucket = open(&redis, paced(None, 1, tiers(json!([day])))).await;
    let shown = async || {
        let pace = bucket.census().await.unwrap().pace;
        (pace.reason, pace.tokens)
    };
    assert_eq!(shown().await, ("target", Some(3)), "before anybody has joined");
    let replica = join(&bucket, "a").await;
    assert_eq!(shown().await, ("target", Some(3)));
    submit(&bucket, job("x")).await;
    assert_eq!(take(&replica, 1).await.len(), 1);
    assert_eq!(shown().await, ("target", Some(2)));

    // A lost pace counts as used up.
    redis.ask::<u64>("DEL dripfeed:{b}:pace:tiers").await;
    assert_eq!(shown().await, ("used_up", Some(0)));
}

/// How long a replica on a busy machine may need to wake up, take and settle.
const NOTICED: Duration = Duration::from_millis(250);

#[tokio::test]
async fn a_caller_gets_in_after_retry_after() {
    let _alone = machine::alone().await;
    let redis = TestRedis::start().await;
    for tiers in [
        tiers(json!([{ "kind": "fixed", "limit": 2, "period": "700ms" }])),
        tiers(json!([{ "kind": "fixed", "limit": 5, "period": "2s" }, { "kind": "gate", "period": "150ms" }])),
        tiers(json!([{ "kind": "fixed", "limit": 2, "period": "1s", "align": "first" }])),
    ] {
        let shown = format!("{:?}", tiers.written());
        let mut settings = paced(None, 1, tiers);
        settings.capacity = 3;
        let bucket = open(&redis, settings).await;
        let replica = join(&bucket, "a").await;
        let stalls = Stalls::watch(redis.store().await);
        let leaking = tokio::spawn(async move {
            loop {
                match replica.take(1).await.unwrap() {
                    Take::Jobs(jobs, _) => {
                        for taken in jobs {
                            settle(&replica, taken, DELIVERED).await;
                        }
                    }
                    Take::Idle(idle) => replica.wait(&idle).await,
                    Take::Fenced => panic!("declared dead"),
                }
            }
        });
        let mut refusals = 0;
        while refusals < 6 {
            if let Admission::Refused(refused) = bucket.admit(job("x")).await.unwrap() {
                stalls.were_there();
                sleep(refused.retry_after.unwrap() + NOTICED).await;
                let again = bucket.admit(job("again")).await.unwrap();
                // Nothing leaks while the machine is stalled.
                match again {
                    Admission::Admitted(_) => refusals += 1,
                    Admission::Refused(_) => {
                        assert!(stalls.were_there(), "after {refused:?}: {again:?}, {shown}");
                    }
                }
            }
        }
        leaking.abort();
        redis.store().await.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
    }
}

#[tokio::test]
async fn the_first_jobs_of_a_bucket_have_its_whole_burst_before_a_replica_joins() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, paced(Some("1/h"), 2, PaceTiers::default())).await;
    let mut etas = Vec::new();
    for _ in 0..3 {
        etas.push(submit(&bucket, job("x")).await.eta);
    }
    assert_eq!(etas[..2], [Duration::ZERO; 2]);
    assert!(etas[2] > Duration::from_secs(3000), "{etas:?}");
}

fn keyed(key: &str, start: StartTime) -> Submission {
    Submission { idempotency_key: IdempotencyKey::parse(key).ok(), start, ..job(key) }
}

async fn eta_of_repeated(bucket: &Bucket, submission: &Submission) -> Duration {
    let again = submit(bucket, submission.clone()).await;
    assert!(again.repeated, "{again:?}");
    again.eta
}

const HOUR: Duration = Duration::from_hours(1);

/// Allows for the time that the test takes.
fn is_an_hour(eta: Duration) -> bool {
    HOUR * 9 / 10 < eta && eta <= HOUR
}

#[tokio::test]
async fn a_repeated_submission_has_the_eta_of_its_job() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, paced(Some("1/h"), 1, PaceTiers::default())).await;
    let replica = join(&bucket, "a").await;
    let [called, next] = ["called", "next"].map(|key| keyed(key, StartTime::AtOnce));
    submit(&bucket, called.clone()).await;
    let taken = take_one(&replica).await;
    assert!(is_an_hour(submit(&bucket, next.clone()).await.eta));
    let eta = eta_of_repeated(&bucket, &next).await;
    assert!(is_an_hour(eta), "{eta:?}");
    assert_eq!(eta_of_repeated(&bucket, &called).await, Duration::ZERO, "it is in flight");
    settle(&replica, taken, DELIVERED).await;
    assert_eq!(eta_of_repeated(&bucket, &called).await, Duration::ZERO, "it has ended");
}

#[tokio::test]
async fn a_repeated_submission_of_a_delayed_job_has_the_rest_of_its_delay() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, paced(None, 1, PaceTiers::default())).await;
    let late = keyed("late", StartTime::After(HOUR));
    submit(&bucket, late.clone()).await;
    let eta = eta_of_repeated(&bucket, &late).await;
    assert!(is_an_hour(eta), "{eta:?}");
    assert!(takes_nothing(&join(&bucket, "a").await).await);
    let eta = eta_of_repeated(&bucket, &late).await;
    assert!(is_an_hour(eta), "parked: {eta:?}");
}

#[tokio::test]
async fn the_eta_counts_the_windows_ahead() {
    let redis = TestRedis::start().await;
    let hours = json!([{ "kind": "fixed", "limit": 10, "period": "1h", "align": "first" }]);
    let bucket = open(&redis, paced(None, 1, tiers(hours))).await;
    let begun = Instant::now();
    join(&bucket, "a").await;
    let mut etas = Vec::new();
    for _ in 0..25 {
        etas.push(submit(&bucket, job("x")).await.eta.as_secs());
    }
    let passed = begun.elapsed().as_secs() + 1;
    let hour = |of: u64| etas.iter().filter(|eta| (of * 3600 - passed..=of * 3600).contains(*eta)).count();
    assert_eq!((etas.iter().filter(|eta| **eta == 0).count(), hour(1), hour(2)), (10, 10, 5), "{etas:?}");
}

/// Takes jobs as soon as the pace allows: after a late reply no used tokens drain for a while.
async fn take_at_pace(replica: &Replica, most: usize) -> Vec<ClaimedJob> {
    let taken = async {
        loop {
            match replica.take(most).await.unwrap() {
                Take::Jobs(jobs, _) => return jobs,
                Take::Idle(_) => sleep(Duration::from_millis(1)).await,
                other => panic!("{other:?}"),
            }
        }
    };
    timeout(PATIENCE, taken).await.expect("there is a token")
}

#[tokio::test]
async fn a_changed_pace_keeps_what_was_consumed() {
    let redis = TestRedis::start().await;
    let year = |limit: u64| changed("leak.tiers", json!([{ "kind": "fixed", "limit": limit, "period": "366d" }]));
    let bucket = with_jobs(&redis, paced(Some("1/366d"), 8, PaceTiers::default()), 20).await;
    let replicas = [join(&bucket, "a").await, join(&open(&redis, (*bucket.settings()).clone()).await, "b").await];
    assert_eq!(take(&replicas[0], 5).await.len(), 5);
    // A new tier has lost nothing. The burst is what was left.
    bucket.apply_overrides(&year(6)).await.unwrap();
    assert_eq!(take(&replicas[1], 20).await.len(), 3);
    bucket.apply_overrides(&changed("leak.rate", "1000000/s")).await.unwrap();
    assert_eq!(take_at_pace(&replicas[0], 1).await.len(), 1);
    assert_eq!(take_at_pace(&replicas[1], 1).await.len(), 1);
    assert_eq!(take_at_pace(&replicas[0], 20).await.len(), 1);
    assert!(takes_nothing(&replicas[1]).await, "six of six");
    bucket.apply_overrides(&year(7)).await.unwrap();
    assert_eq!(take_at_pace(&replicas[1], 20).await.len(), 1);
    bucket.apply_overrides(&changed("leak.tiers", json!(null))).await.unwrap();
    assert_eq!(bucket.census().await.unwrap().pace.target.unwrap().text, "1000000/s");
}

/// A bucket of 1000 calls a second, with jobs, and two replicas of it in separate processes.
async fn adaptive(redis: &TestRedis, settings: BucketSettings) -> (Bucket, [Replica; 2]) {
    let bucket = with_jobs(redis, settings.clone(), 500).await;
    let replicas = [join(&bucket, "a").await, join(&open(redis, settings).await, "b").await];
    (bucket, replicas)
}

fn fast() -> BucketSettings {
    paced(Some("1000/s"), 1000, PaceTiers::default())
}

const REFUSED: Settlement = Settlement::Throttled { wait: Some(Duration::ZERO) };

async fn refuse(replica: &Replica, calls: Vec<ClaimedJob>) {
    let refusals = calls.into_iter().map(|taken| settle(replica, taken, REFUSED));
    futures::future::join_all(refusals).await;
}

async fn pace_of(bucket: &Bucket) -> (f64, &'static str) {
    let pace = bucket.census().await.unwrap().pace;
    (pace.effective_per_s.unwrap(), pace.reason)
}

/// Makes the last cut this many ms older.
async fn age_the_cut(redis: &TestRedis, ms: i64) {
    for field in ["cut", "grows"] {
        let mut older = redis::cmd("HINCRBY");
        older.arg("dripfeed:{b}:pace").arg(field).arg(-ms);
        redis.store().await.command::<()>(&older).await.unwrap();
    }
}

/// Whether the rate is what a cut leaves, or somewhat more: it grows by a thousandth in 0.1 s, and a busy machine may
/// read it late.
fn is_cut_to(left: f64, effective: f64) -> bool {
    (left..left + 100.0).contains(&effective)
}

#[tokio::test]
async fn refusals_cut_the_rate_once_for_all_calls_that_were_under_way() {
    let redis = TestRedis::start().await;
    let (bucket, [a, b]) = adaptive(&redis, fast()).await;
    let (of_a, mut of_b) = (take(&a, 20).await, take(&b, 20).await);
    let late = of_b.split_off(10);
    refuse(&a, of_a).await;
    refuse(&b, of_b).await;
    let (effective, reason) = pace_of(&bucket).await;
    assert!(is_cut_to(700.0, effective) && reason == "refusals", "{effective} {reason}");
    // These calls are from before the cut, though they end late.
    sleep(Duration::from_millis(1100)).await;
    refuse(&b, late).await;
    assert!(is_cut_to(700.0, pace_of(&bucket).await.0));
    // This call is from after the cut.
    let next = take(&b, 1).await;
    refuse(&b, next).await;
    let effective = pace_of(&bucket).await.0;
    assert!(is_cut_to(490.0, effective), "{effective}");
}

#[tokio::test]
async fn a_cut_rate_grows_back_to_what_it_is_set_to_and_not_beyond() {
    let redis = TestRedis::start().await;
    let (bucket, [a, _b]) = adaptive(&redis, fast()).await;
    let taken = take(&a, 1).await;
    refuse(&a, taken).await;
    age_the_cut(&redis, 15_000).await;
    assert!(is_cut_to(850.0, pace_of(&bucket).await.0));
    age_the_cut(&redis, 15_000).await;
    assert_eq!(pace_of(&bucket).await, (1000.0, "target"));
    age_the_cut(&redis, 3_600_000).await;
    assert_eq!(pace_of(&bucket).await, (1000.0, "target"));
}

#[tokio::test]
async fn the_rate_is_never_cut_to_nothing() {
    let redis = TestRedis::start().await;
    let (bucket, [a, _b]) = adaptive(&redis, fast()).await;
    for _ in 0..20 {
        let taken = take(&a, 1).await;
        refuse(&a, taken).await;
        age_the_cut(&redis, 1000).await;
        sleep(Duration::from_millis(2)).await;
    }
    let effective = pace_of(&bucket).await.0;
    assert!((50.0..200.0).contains(&effective), "{effective}");
}

#[tokio::test]
async fn a_cut_rate_is_what_leaks() {
    let _alone = machine::alone().await;
    let redis = TestRedis::start().await;
    let (_bucket, [a, b]) = adaptive(&redis, paced(Some("100/s"), 100, PaceTiers::default())).await;
    let begun = std::time::Instant::now();
    let burst = take(&a, 100).await.len();
    let mut cut = redis::cmd("HSET");
    cut.arg("dripfeed:{b}:pace").arg(&["speed", "200", "cut", "1", "grows", "9999999999999"]);
    redis.store().await.command::<()>(&cut).await.unwrap();
    assert!(takes_nothing(&b).await || burst > 90);
    sleep(Duration::from_millis(1500)).await;
    let calls = take(&b, 100).await.len();
    let seconds = begun.elapsed().as_secs_f64();
    // A fifth of the rate, and what has grown back since then.
    let most = seconds * 100.0 * (0.2 + seconds / 100.0) + 2.0;
    assert!(calls >= 25 && f64::from(u32::try_from(calls).unwrap()) <= most, "{calls} calls in {seconds} s");
}

const TIMED_OUT: (Settlement, bool) = (Settlement::Retry { after: Duration::ZERO }, true);

/// Calls that end one after the other. `percent` of them end with `bad`, chosen randomly.
async fn calls_with(redis: &TestRedis, percent: u32, bad: (Settlement, bool), calls: usize) -> (f64, &'static str) {
    let mut chance = fastrand::Rng::with_seed(7);
    let (bucket, [a, b]) = adaptive(redis, fast()).await;
    let mut ended = 0;
    while ended < calls {
        for replica in [&a, &b] {
            let Take::Jobs(jobs, _) = replica.take(20).await.unwrap() else { continue };
            let ends = jobs.into_iter().map(|taken| {
                ended += 1;
                let good = (Settlement::Retry { after: Duration::ZERO }, false);
                let (settlement, timed_out) = if chance.u32(0..100) < percent { bad.clone() } else { good };
                replica.settle_with(taken.claim, settlement, Feedback { timed_out, ..Feedback::default() })
            });
            futures::future::join_all(ends.collect::<Vec<_>>()).await;
        }
    }
    pace_of(&bucket).await
}

#[tokio::test]
async fn single_timeouts_cut_nothing_and_many_do() {
    let redis = TestRedis::start().await;
    let (effective, reason) = calls_with(&redis, 2, TIMED_OUT, 3000).await;
    assert!(effective >= 900.0, "{effective} {reason}");
    redis.store().await.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
    let (effective, reason) = calls_with(&redis, 40, TIMED_OUT, 200).await;
    assert!(effective <= 800.0 && reason == "timeouts", "{effective} {reason}");
}

#[tokio::test]
async fn single_refusals_cut_little_and_many_cut_to_what_the_upstream_takes() {
    let redis = TestRedis::start().await;
    let (effective, reason) = calls_with(&redis, 2, (REFUSED, false), 3000).await;
    assert!(effective >= 700.0, "{effective} {reason}");
    redis.store().await.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
    let (effective, reason) = calls_with(&redis, 40, (REFUSED, false), 200).await;
    assert!(effective <= 800.0 && reason == "refusals", "{effective} {reason}");
}

#[tokio::test]
async fn a_rate_that_is_not_adaptive_stays_what_it_is() {
    let redis = TestRedis::start().await;
    let mut settings = fast();
    settings.leak.adaptive = false;
    let (bucket, [a, b]) = adaptive(&redis, settings).await;
    let taken = take(&a, 20).await;
    refuse(&a, taken).await;
    assert_eq!(pace_of(&bucket).await, (1000.0, "target"));
    // Until it is.
    bucket.apply_overrides(&changed("leak.adaptive", true)).await.unwrap();
    let taken = take(&b, 1).await;
    refuse(&b, taken).await;
    assert!(is_cut_to(700.0, pace_of(&bucket).await.0));
    bucket.apply_overrides(&changed("leak.adaptive", false)).await.unwrap();
    assert_eq!(pace_of(&bucket).await, (1000.0, "target"));
}

#[tokio::test]
async fn without_a_rate_only_the_hold_is_kept() {
    let redis = TestRedis::start().await;
    let (bucket, [a, _b]) = adaptive(&redis, paced(None, 1, PaceTiers::default())).await;
    let taken = take(&a, 20).await;
    refuse(&a, taken).await;
    assert_eq!(bucket.census().await.unwrap().pace.reason, "no_rate");
    assert_eq!(take(&a, 20).await.len(), 20);
}

#[tokio::test]
async fn a_used_up_quota_holds_the_bucket_whatever_the_answer_was() {
    let redis = TestRedis::start().await;
    let (bucket, [a, b]) = adaptive(&redis, fast()).await;
    let exhausted = |wait| Feedback { exhausted_for: Some(wait), ..Feedback::default() };
    let taken = take(&a, 2).await;
    for taken in taken {
        a.settle_with(taken.claim, DELIVERED, exhausted(Duration::from_secs(60))).await.unwrap();
    }
    assert!(takes_nothing(&b).await);
    let pace = bucket.census().await.unwrap().pace;
    assert_eq!(pace.reason, "held");
    assert!(pace.throttled_for.unwrap() <= Duration::from_secs(60));
}
