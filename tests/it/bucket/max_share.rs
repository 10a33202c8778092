//! `max_share`: how much of a bucket's room one caller may take, and the counts of jobs by caller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_store::Store;
use dripfeed_tests::buckets::{
    self, DELIVERED, admitted, buried, changed, join, open, refused, settle, submit, take, take_one, takes_nothing,
};
use dripfeed_tests::machine::stalls::Stalls;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use http::Method;
use serde_json::{Value, json};

const KINDS: [Kind; 2] = [Kind::Stream, Kind::List];

const KEY: &str = "the key of alice";
const SHA256: &str = "66b9ff87cc3995f3f49122a670d1ef6ba028d2291e8f27f0fe65e497d4336640";

fn settings(name: &str, kind: Kind, capacity: u64, share: &str) -> BucketSettings {
    BucketSettings { kind, capacity, max_share: share.parse().ok(), ..buckets::settings(name) }
}

fn of(caller: &str) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..buckets::job("meat") }
}

/// How many jobs each caller has in the bucket. All have the same size, so their bytes are proportional.
async fn holders(store: &Store, bucket: &Bucket) -> BTreeMap<String, u64> {
    let mut all = redis::cmd("HGETALL");
    all.arg(format!("dripfeed:{{{}}}:holders", bucket.name()));
    let held: BTreeMap<String, u64> = store.command(&all).await.expect("Redis answers");
    let (bytes, jobs): (BTreeMap<_, _>, BTreeMap<_, _>) =
        held.into_iter().partition(|(field, _)| field.ends_with(" bytes"));
    let bytes_of = |caller: &str| bytes.get(&format!("{caller} bytes")).copied().unwrap_or(0);
    assert_eq!(bytes.len(), jobs.len(), "{jobs:?} {bytes:?}");
    assert!(jobs.iter().all(|(caller, held)| bytes_of(caller) >= *held), "{jobs:?} {bytes:?}");
    jobs
}

/// The time on the Redis clock.
async fn now_ms(store: &Store) -> u64 {
    let (seconds, micros): (u64, u64) = store.command(&redis::cmd("TIME")).await.expect("Redis answers");
    seconds * 1000 + micros / 1000
}

fn counted<const N: usize>(callers: [(&str, u64); N]) -> BTreeMap<String, u64> {
    callers.map(|(caller, jobs)| (caller.to_owned(), jobs)).into()
}

/// Submits this number of jobs of a caller together. Returns how many are accepted.
async fn admit_many(bucket: &Bucket, caller: &str, submissions: usize) -> usize {
    let answers = bucket.admit_many((0..submissions).map(|_| of(caller)).collect()).await;
    answers.iter().filter(|answer| matches!(answer, Ok(Admission::Admitted(_)))).count()
}

#[tokio::test]
async fn one_caller_cannot_fill_the_bucket_with_bytes() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let mut settings = settings("b", kind, 1000, "50%");
        settings.capacity_bytes = 10_000;
        let bucket = open(&redis, settings).await;
        let of_size = |caller: &str, bytes: usize| Submission { body: vec![b'x'; bytes].into(), ..of(caller) };
        let mut admitted_bytes = 0;
        let over = loop {
            match bucket.admit(of_size("alice", 1000)).await.unwrap() {
                Admission::Admitted(_) => admitted_bytes += 1000,
                Admission::Refused(refused) => break refused,
            }
        };
        assert_eq!((admitted_bytes, over.reason), (4000, RefusalReason::ShareUsedUp), "{kind:?}");
        assert!(over.retry_after.is_some());
        // A smaller job of alice fits, and so does one of another caller.
        submit(&bucket, of_size("alice", 100)).await;
        submit(&bucket, of_size("bob", 4000)).await;
        // A caller without jobs may have one of any size.
        submit(&bucket, of_size("carol", 200)).await;
        let replica = join(&bucket, "a").await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        submit(&bucket, of_size("alice", 900)).await;
        assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());

        bucket.purge().await.unwrap();
        submit(&bucket, of_size("alice", 9000)).await;
        assert_eq!(refused(bucket.admit(of_size("alice", 1)).await).reason, RefusalReason::ShareUsedUp);
        bucket.purge().await.unwrap();
        assert_eq!(holders(&redis.store().await, &bucket).await, counted([]));
    }
}

#[tokio::test]
async fn one_caller_cannot_fill_the_bucket() {
    let redis = TestRedis::start().await;
    for kind in KINDS {
        let bucket = open(&redis, settings(kind.as_str(), kind, 8, "25%")).await;
        assert_eq!(admit_many(&bucket, "alice", 5).await, 2);
        let judged = bucket.admit_from(of("alice"), Arc::default()).await.unwrap();
        assert_eq!((judged.violated(), judged.caller_share), (vec![MAX_SHARE], Some(CallerShare { jobs: 2, most: 2 })));
        let Admission::Refused(Refused { reason, retry_after, level, .. }) = judged.admission else {
            panic!("alice has her share")
        };
        assert_eq!((reason, level), (RefusalReason::ShareUsedUp, 2));
        assert!(retry_after.is_some());
        let judged = bucket.admit_from(of("bob"), Arc::default()).await.unwrap();
        assert_eq!((judged.violated(), judged.caller_share), (vec![], Some(CallerShare { jobs: 1, most: 2 })));
        // Jobs without a caller have no share, but the bucket's capacity holds for them, too.
        for _ in 3..8 {
            submit(&bucket, buckets::job("nobody's")).await;
        }
        assert_eq!(refused(bucket.admit(of("carol")).await).reason, RefusalReason::BucketFull);
        assert_eq!(holders(&redis.store().await, &bucket).await, counted([("alice", 2), ("bob", 1)]));
    }
}

#[tokio::test]
async fn a_share_is_of_the_capacity_in_force_and_at_least_one_job() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings("b", Kind::Stream, 100, "2.5%")).await;
    assert_eq!(admit_many(&bucket, "alice", 5).await, 2);
    bucket.apply_overrides(&changed("capacity", 200)).await.unwrap();
    assert_eq!(admit_many(&bucket, "alice", 5).await, 3);
    bucket.apply_overrides(&changed("capacity", 20)).await.unwrap();
    assert_eq!((admit_many(&bucket, "alice", 1).await, admit_many(&bucket, "bob", 2).await), (0, 1));
    assert_eq!(bucket.purge().await.unwrap(), 6);
    assert_eq!(admit_many(&bucket, "alice", 5).await, 1);
}

#[tokio::test]
async fn a_share_that_is_set_at_run_time_counts_what_is_there_and_holds_at_once_on_all_intakes() {
    let redis = TestRedis::start().await;
    for kind in KINDS {
        let name = kind.as_str();
        let [one, other] = [0, 1].map(|_| open(&redis, settings(name, kind, 10, "")));
        let (one, other) = (one.await, other.await);
        assert_eq!(admit_many(&one, "alice", 6).await, 6);
        one.apply_overrides(&changed("max_share", "50%")).await.unwrap();
        assert_eq!((admit_many(&other, "alice", 1).await, admit_many(&other, "bob", 1).await), (0, 1));
        assert_eq!(one.census().await.unwrap().max_share, "50%".parse().ok());
        one.apply_overrides(&changed("max_share", "70%")).await.unwrap();
        assert_eq!(admit_many(&other, "alice", 3).await, 1);
        one.apply_overrides(&changed("max_share", Value::Null)).await.unwrap();
        assert_eq!(admit_many(&other, "alice", 3).await, 2);
    }
}

#[tokio::test]
async fn whichever_way_a_job_leaves_its_caller_gets_the_place_back() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    for kind in KINDS {
        let bucket = open(&redis, BucketSettings { deliveries: 1, ..settings(kind.as_str(), kind, 100, "50%") }).await;
        let held = async || holders(&store, &bucket).await;
        let replica = join(&bucket, "a").await;

        assert_eq!(admit_many(&bucket, "alice", 3).await, 3);
        submit(&bucket, of("bob")).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        settle(&replica, take_one(&replica).await, Settlement::Requeue).await;
        assert_eq!(held().await, counted([("alice", 2), ("bob", 1)]), "a job that comes back keeps its place");
        let buried_one = take_one(&replica).await;
        let (dead, caller) = (buried_one.claim.id(), buried_one.job.as_ref().unwrap().caller.clone().unwrap());
        settle(&replica, buried_one, buried("no luck")).await;
        let mut left = counted([("alice", 2), ("bob", 1)]);
        left.entry(caller).and_modify(|jobs| *jobs -= 1);
        left.retain(|_, jobs| *jobs > 0);
        assert_eq!(held().await, left);
        assert!(matches!(bucket.replay(dead).await.unwrap(), ReplayResult::As(_)));
        assert_eq!(held().await, counted([("alice", 2), ("bob", 1)]));
        assert_eq!(bucket.purge().await.unwrap(), 3);
        assert_eq!(held().await, counted([]));

        let cancelled = submit(&bucket, of("alice")).await;
        assert_eq!(bucket.cancel(cancelled.id).await.unwrap(), CancelResult::Cancelled);
        assert_eq!(held().await, counted([]));

        let late = submit(&bucket, Submission { expires_in: Some(Duration::from_millis(1)), ..of("alice") }).await;
        assert_eq!(held().await, counted([("alice", 1)]));
        until("its deadline is over", async || now_ms(&store).await > late.id.accepted_ms() + 1).await;
        assert!(takes_nothing(&replica).await);
        assert_eq!(held().await, counted([]));

        // Poison: the job was delivered as often as allowed, and its replica died.
        submit(&bucket, of("alice")).await;
        take_one(&replica).await;
        let died = bucket.declare_dead(replica.consumer()).await.unwrap().expect("it doesn't beat");
        assert_eq!((died.poisoned, held().await), (1, counted([])));
    }
}

#[tokio::test]
async fn jobs_added_by_hand_are_counted_to_nobody() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = open(&redis, settings("b", Kind::Stream, 10, "20%")).await;
    let mut add = redis::cmd("XADD");
    add.arg("dripfeed:{b}:jobs").arg("*").arg("body").arg("by hand").arg("caller").arg("alice");
    for _ in 0..3 {
        store.command::<String>(&add).await.unwrap();
    }
    assert_eq!(admit_many(&bucket, "alice", 3).await, 2);
    let replica = join(&bucket, "a").await;
    for taken in take(&replica, 3).await {
        settle(&replica, taken, DELIVERED).await;
    }
    assert_eq!(holders(&store, &bucket).await, counted([("alice", 2)]));
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
}

#[tokio::test]
async fn a_wrong_count_is_reported_and_repaired_and_locks_nobody_out_of_an_empty_bucket() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = open(&redis, settings("b", Kind::Stream, 10, "20%")).await;
    let run = async |words: &str| {
        let mut command = redis::Cmd::new();
        words.split(' ').for_each(|word| {
            command.arg(word);
        });
        store.command::<redis::Value>(&command).await.unwrap();
    };
    submit(&bucket, of("alice")).await;
    submit(&bucket, of("bob")).await;
    run("HSET dripfeed:{b}:holders alice 5 carol 2").await;
    run("HDEL dripfeed:{b}:holders bob").await;
    let found = bucket.examine(true).await.unwrap().findings;
    let [Finding { kind: FindingKind::HoldersMiscounted, count: 3, .. }] = found[..] else { panic!("{found:?}") };
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    assert_eq!(holders(&store, &bucket).await, counted([("alice", 1), ("bob", 1)]));

    assert_eq!(admit_many(&bucket, "alice", 2).await, 1);
    run("UNLINK dripfeed:{b}:jobs").await;
    assert_eq!(admit_many(&bucket, "alice", 3).await, 2);
    assert_eq!(holders(&store, &bucket).await, counted([("alice", 2), ("bob", 1)]));
}

#[tokio::test]
async fn a_caller_at_its_share_is_charged_to_no_limit_and_sees_all_that_refuses() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings("b", Kind::Stream, 10, "20%")).await;
    let limit = |limit: u64| {
        let tiers = json!([{ "kind": "fixed", "limit": limit, "period": "24h" }]);
        let each = json!({ "id": "each", "key": ["caller"], "tiers": tiers });
        BucketLimits::read("limits", vec![each]).expect("a policy")
    };
    bucket.set_limits(&limit(4));
    assert_eq!(admit_many(&bucket, "alice", 9).await, 2);
    let judged = bucket.admit_from(of("alice"), Arc::default()).await.unwrap();
    assert_eq!(judged.violated(), [MAX_SHARE]);
    assert_eq!(judged.limits.as_ref().map(|limits| limits.policies[0].tiers[0].remaining), Some(2));
    bucket.set_limits(&limit(2));
    let judged = bucket.admit_from(of("alice"), Arc::default()).await.unwrap();
    assert_eq!(judged.violated(), ["each", MAX_SHARE]);
    assert_eq!(bucket.purge().await.unwrap(), 2);
    assert_eq!(bucket.admit_from(of("alice"), Arc::default()).await.unwrap().violated(), ["each"]);
}

#[tokio::test]
async fn a_replay_keeps_the_share_of_each_caller() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings("b", Kind::Stream, 10, "20%")).await;
    let replica = join(&bucket, "a").await;
    for caller in ["alice", "alice", "alice", "bob"] {
        submit(&bucket, of(caller)).await;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    let done = bucket.replay_many(&DeadFilter::default(), None).await.unwrap();
    assert_eq!(done, ReplayCounts { replayed: 3, left: 1 });
    let left = bucket.dead_letters(&DeadFilter::default(), None, 10).await.unwrap().items;
    assert!(matches!(&bucket.replay(left[0].id).await.unwrap(),
        ReplayResult::Refused(refused) if refused.reason == RefusalReason::ShareUsedUp
            && refused.retry_after.is_some()));
}

#[tokio::test]
async fn a_batch_costs_one_write_for_all_its_callers() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings("b", Kind::Stream, 100, "50%")).await;
    admitted(bucket.admit(of("alice")).await);
    let spent = async |callers: &[Option<&str>]| {
        let before = redis.calls("hset").await;
        let one = |caller: &Option<&str>| Submission { caller: caller.map(str::to_owned), ..buckets::job("meat") };
        for answer in bucket.admit_many(callers.iter().map(one).collect()).await {
            admitted(answer);
        }
        redis.calls("hset").await - before
    };
    let of_the_tally = spent(&[None; 10]).await;
    assert_eq!(spent(&[Some("alice"); 10]).await, of_the_tally + 1);
    assert_eq!(spent(&[Some("alice"), Some("bob"), Some("carol"), Some("dave")]).await, of_the_tally + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_at_its_share_gets_in_after_retry_after() {
    let upstream = Upstream::willing().await;
    let shares = ["25%", "free"].into_iter();
    for (kind, share) in shares.flat_map(|share| KINDS.map(|kind| (kind, share))) {
        let service = Service::new(&format!(
            "[[keys]]\nid = \"alice\"\nsha256 = \"{SHA256}\"\nscopes = [\"submit\"]\n\
             [buckets.b]\nupstream = \"{}\"\nkind = \"{}\"\ncapacity = 20\nmax_share = \"{share}\"\n\
             [buckets.b.leak]\nrate = \"4/s\"\n",
            upstream.url(),
            kind.as_str()
        ))
        .await;
        let (intake, _processor) = (service.intake().await, service.processor().await);
        let client = intake.client();
        let submit = async || {
            let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("dripfeed-key", KEY);
            client.call(request, "meat").await.expect("an answer")
        };
        let (stalls, mut times) = (Stalls::watch(service.store().clone()), 0);
        while times < 3 {
            stalls.were_there();
            let refused = loop {
                let answer = submit().await;
                if answer.status == 429 {
                    break answer;
                }
                assert_eq!(answer.status, 202, "{answer:?}");
            };
            assert_eq!(refused.text("code"), "caller_limit");
            assert_eq!(refused.json()["violated_policies"], json!(["max_share"]));
            let fields: Vec<_> = refused.headers.get_all("ratelimit").iter().collect();
            assert!(fields.iter().any(|field| field.as_bytes().starts_with(b"\"max_share\";r=0;t=")), "{refused:?}");
            let wait = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
            tokio::time::sleep(Duration::from_secs(wait)).await;
            let again = submit().await;
            if again.status == 202 {
                times += 1;
            } else {
                // Nothing leaks while the machine is stalled.
                assert!(stalls.were_there(), "after {refused:?}: {again:?}");
            }
        }
    }
}
