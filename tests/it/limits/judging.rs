//! Submissions judged by a bucket's limits, in the script that appends.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, open};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;
use http::Method;
use serde_json::json;

fn policies(policies: serde_json::Value) -> BucketLimits {
    let serde_json::Value::Array(policies) = policies else { panic!("a list") };
    BucketLimits::read("limits", policies).unwrap_or_else(|error| panic!("{error}"))
}

fn of(caller: &str) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..buckets::job("meat") }
}

async fn judge(bucket: &Bucket, submission: Submission) -> AdmissionDecision {
    bucket.admit_from(submission, Arc::default()).await.unwrap()
}

fn refusal(judged: &AdmissionDecision) -> &Refused {
    match &judged.admission {
        Admission::Refused(refused) => refused,
        Admission::Admitted(admitted) => panic!("{admitted:?}"),
    }
}

fn is_admitted(judged: &AdmissionDecision) -> bool {
    matches!(judged.admission, Admission::Admitted(_))
}

#[tokio::test]
async fn each_caller_has_its_own_limit_and_sees_what_is_left() {
    let redis = TestRedis::start().await;
    for (number, kind) in [Kind::Stream, Kind::List].into_iter().enumerate() {
        let bucket = open(&redis, BucketSettings { kind, ..buckets::settings(&format!("b{number}")) }).await;
        bucket.set_limits(&policies(json!([
            { "id": "each", "key": ["caller"], "tiers": [{ "kind": "bucket", "rate": "2/h", "burst": 2 }] }
        ])));
        let first = judge(&bucket, of("alice")).await;
        assert!(is_admitted(&first));
        assert_eq!(first.limits.unwrap().policies[0].tiers[0].remaining, 1);
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        let refused = judge(&bucket, of("alice")).await;
        let refused = refusal(&refused);
        assert_eq!((refused.reason, refused.level), (RefusalReason::CallerLimit, 2));
        let wait = refused.retry_after.unwrap();
        assert!(wait > Duration::from_mins(29) && wait <= Duration::from_mins(30), "{wait:?}");
        assert!(is_admitted(&judge(&bucket, of("bob")).await));
        assert_eq!(bucket.census().await.unwrap().level, 3);
    }
}

#[tokio::test]
async fn a_refused_submission_is_charged_to_no_tier() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 3, ..buckets::settings("b") }).await;
    bucket.set_limits(&policies(json!([
        { "id": "all", "tiers": [{ "kind": "fixed", "limit": 100, "period": "1h" }] },
        { "id": "each", "key": ["caller"], "tiers": [{ "kind": "fixed", "limit": 1, "period": "1h" }] }
    ])));
    let left = |judged: &AdmissionDecision| judged.limits.as_ref().unwrap().policies[0].tiers[0].remaining;
    assert_eq!(left(&judge(&bucket, of("alice")).await), 99);
    for _ in 0..5 {
        assert_eq!(refusal(&judge(&bucket, of("alice")).await).reason, RefusalReason::CallerLimit);
    }
    assert_eq!(left(&judge(&bucket, of("bob")).await), 98);
    assert!(is_admitted(&judge(&bucket, of("carol")).await));
    // Nor for want of room.
    for _ in 0..5 {
        assert_eq!(refusal(&judge(&bucket, of("dave")).await).reason, RefusalReason::BucketFull);
    }
    assert_eq!(bucket.purge().await.unwrap(), 3);
    assert_eq!(left(&judge(&bucket, of("dave")).await), 96);
}

#[tokio::test]
async fn the_later_of_a_batch_see_what_the_earlier_were_charged() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    bucket.set_limits(&policies(json!([
        { "id": "each", "key": ["caller"], "tiers": [{ "kind": "log", "limit": 3, "period": "1h" }] }
    ])));
    let answers = bucket.admit_many((0..10).map(|_| of("alice")).collect()).await;
    let admitted = answers.iter().filter(|answer| matches!(answer, Ok(Admission::Admitted(_)))).count();
    assert_eq!(admitted, 3);
    let tally = bucket.census().await.unwrap();
    assert!(tally.refused.contains(&(RefusalReason::CallerLimit, 7)), "{:?}", tally.refused);
}

#[tokio::test]
async fn a_policy_can_bound_the_backlog_below_the_capacity() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    bucket.set_limits(&policies(json!([
        { "id": "short", "match": { "methods": ["PUT"] }, "tiers": [{ "kind": "backlog", "limit": 2 }] }
    ])));
    let put = || Submission { method: Some(Method::PUT), ..of("alice") };
    for left in [1, 0] {
        let judged = judge(&bucket, put()).await;
        assert!(is_admitted(&judged));
        assert_eq!(judged.limits.unwrap().policies[0].tiers[0].remaining, left, "itself counted");
    }
    let refused = judge(&bucket, put()).await;
    assert_eq!(refusal(&refused).reason, RefusalReason::CallerLimit);
    assert!(refusal(&refused).retry_after.is_some());
    assert!(is_admitted(&judge(&bucket, of("alice")).await), "another method has the bucket's own bound");
}

#[tokio::test]
async fn a_caller_that_waits_exactly_retry_after_gets_in() {
    let redis = TestRedis::start().await;
    let tiers = [
        json!({ "kind": "gate", "period": "30ms" }),
        json!({ "kind": "bucket", "rate": "3/100ms", "burst": 2 }),
        json!({ "kind": "fixed", "limit": 2, "period": "50ms" }),
        json!({ "kind": "fixed", "limit": 2, "period": "50ms", "align": "first" }),
        json!({ "kind": "sliding", "limit": 2, "period": "50ms" }),
        json!({ "kind": "log", "limit": 2, "period": "50ms" }),
        json!({ "kind": "log", "limit": 100, "period": "1s", "min_gap": "20ms" }),
    ];
    for (number, tier) in tiers.iter().enumerate() {
        let name = format!("b{number}");
        let bucket = open(&redis, buckets::settings(&name)).await;
        bucket.set_limits(&policies(json!([{ "id": "each", "key": ["caller"], "tiers": [tier] }])));
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        for _ in 0..5 {
            let wait = loop {
                let judged = judge(&bucket, of("alice")).await;
                if let Admission::Refused(refused) = judged.admission {
                    break refused.retry_after.unwrap();
                }
            };
            tokio::time::sleep(wait).await;
            assert!(is_admitted(&judge(&bucket, of("alice")).await), "{tier}: {wait:?} was not enough");
        }
    }
}

#[tokio::test]
async fn a_window_of_the_calendar_ends_by_the_clock_of_redis() {
    const DAY_S: i64 = 24 * 3600;
    for days in [-3, 3] {
        let clock = WallClock::new();
        clock.set_ahead(days * DAY_S);
        let environment = clock.environment();
        let redis = TestRedis::with(ServerOptions { environment, ..ServerOptions::default() }).await;
        let bucket = open(&redis, buckets::settings("b")).await;
        let tier = json!({ "kind": "fixed", "limit": 1, "period": "day", "align": "calendar(Europe/Berlin)" });
        bucket.set_limits(&policies(json!([{ "id": "each", "key": ["caller"], "tiers": [tier] }])));
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        let refused = judge(&bucket, of("alice")).await;
        let wait = refusal(&refused).retry_after.unwrap();
        assert!(wait > Duration::from_secs(2) && wait <= Duration::from_hours(25), "{days}: {wait:?}");
        redis.set_clock(&clock, (days + 1) * DAY_S).await;
        assert!(is_admitted(&judge(&bucket, of("alice")).await), "{days}");
    }
}

#[tokio::test]
async fn one_script_call_decides_any_number_of_tiers() {
    let redis = TestRedis::start().await;
    for tiers in [1, 3, 5] {
        let store = redis.store().await;
        let bucket = open(&redis, buckets::settings(&format!("b{tiers}"))).await;
        let tier = |n| json!({ "kind": "bucket", "rate": format!("{n}/s"), "burst": 10 });
        bucket.set_limits(&policies(json!([
            { "id": "each", "key": ["caller"], "tiers": (1..=tiers).map(tier).collect::<Vec<_>>() }
        ])));
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        store.command::<()>(redis::cmd("CONFIG").arg("RESETSTAT")).await.unwrap();
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        let stats: String = store.command(redis::cmd("INFO").arg("commandstats")).await.unwrap();
        assert!(stats.contains("cmdstat_evalsha:calls=1,"), "{stats}");
        let scopes: Vec<String> = store.command(redis::cmd("KEYS").arg(format!("*b{tiers}*:limit:*"))).await.unwrap();
        assert_eq!(scopes.len(), 1);
        let ttl: i64 = store.command(redis::cmd("PTTL").arg(&scopes[0])).await.unwrap();
        assert!(ttl > 0);
    }
}

#[tokio::test]
async fn one_script_call_judges_a_bounded_number_of_tiers() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = open(&redis, BucketSettings { capacity: 200, ..buckets::settings("b") }).await;
    let policy = |n| json!({ "id": format!("p{n}"), "tiers": vec![json!({ "kind": "bucket", "rate": "1000/h" }); 10] });
    bucket.set_limits(&policies((0..10).map(policy).collect()));
    assert!(is_admitted(&judge(&bucket, of("alice")).await));
    store.command::<()>(redis::cmd("CONFIG").arg("RESETSTAT")).await.unwrap();
    let answers = bucket.admit_many((0..100).map(|_| of("alice")).collect()).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Admission::Admitted(_)))), "{answers:?}");
    let stats: String = store.command(redis::cmd("INFO").arg("commandstats")).await.unwrap();
    let calls = stats.split_once("cmdstat_evalsha:calls=").unwrap().1.split_once(',').unwrap().0;
    assert!((6..20).contains(&calls.parse::<u32>().unwrap()), "{calls} calls for 10,000 tiers");
}

#[tokio::test]
async fn a_limit_that_changes_keeps_what_was_consumed() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let limit = |limit: u64| {
        policies(json!([
            { "id": "each", "key": ["caller"], "tiers": [{ "kind": "fixed", "limit": limit, "period": "24h" }] }
        ]))
    };
    bucket.set_limits(&limit(2));
    for _ in 0..2 {
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
    }
    assert!(!is_admitted(&judge(&bucket, of("alice")).await));
    bucket.set_limits(&limit(3));
    assert!(is_admitted(&judge(&bucket, of("alice")).await));
    bucket.set_limits(&limit(1));
    assert!(!is_admitted(&judge(&bucket, of("alice")).await));
    bucket.set_limits(&BucketLimits::default());
    assert!(is_admitted(&judge(&bucket, of("alice")).await));
}
