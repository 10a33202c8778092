//! Somebody has overwritten a key of a bucket with another type (`SET`). The error of each operation contains the key,
//! no job is lost or added twice, and after the key is deleted everything works again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{JobId, Submission};
use dripfeed_store::Store;
use dripfeed_tests::buckets::{self, DELIVERED, NO_FILTER, buried, join, submit, take};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use serde_json::json;

/// The keys of both kinds, except the one of the jobs.
const OF_BOTH: [&str; 25] = [
    "audit",
    "batches",
    "control",
    "dead",
    "dead:letters",
    "dead:replays",
    "dead:sizes",
    "history",
    "holders",
    "idempotency:ends",
    "idempotency:jobs",
    "members",
    "meter",
    "notices",
    "outbox",
    "outcomes",
    "outcomes:ended",
    "pace",
    "replicas",
    "schedules",
    "schedules:next",
    "schedules:state",
    "standby",
    "takes",
    "tally",
];
const OF_A_STREAM: [&str; 8] =
    ["attempts", "attempts:failed", "dead:waiting", "flow-state", "flows", "parked", "ranges", "throttled"];
const OF_A_LIST: [&str; 1] = ["takers"];

/// A bucket with one broken key.
struct Broken {
    bucket: Bucket,
    store: Store,
    /// The prefix of the bucket's keys.
    prefix: String,
    key: String,
}

fn by(caller: &str, key: &str) -> Submission {
    let idempotency_key = IdempotencyKey::parse(key).ok();
    Submission { caller: Some(caller.to_owned()), idempotency_key, ..buckets::job("x") }
}

fn settings(kind: Kind, name: &str) -> BucketSettings {
    let target = OutcomeTarget { bucket: "events".parse().unwrap(), outcomes: dripfeed_job::Ending::ALL.to_vec() };
    let on_outcome = OnOutcome { targets: vec![target], most: 1000, bytes: 1 << 20 };
    match kind {
        Kind::Stream => BucketSettings { on_outcome, ..buckets::settings(name) },
        Kind::List => BucketSettings { kind, ..buckets::settings(name) },
    }
}

impl Broken {
    async fn ask<T: redis::FromRedisValue>(&self, command: &str, of: &str, rest: &[&str]) -> T {
        let mut command = redis::cmd(command);
        command.arg(format!("{}{of}", self.prefix)).arg(rest);
        self.store.command(&command).await.unwrap()
    }

    /// The ids of all jobs that are in the bucket or have ended.
    async fn accounted(&self) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        let mut elements: Vec<String> = Vec::new();
        if self.bucket.settings().kind == Kind::Stream {
            let entries: Vec<(String, Vec<String>)> = self.ask("XRANGE", "jobs", &["-", "+"]).await;
            ids.extend(entries.into_iter().map(|(id, _)| id));
        } else {
            for list in ["jobs", "taken:a", "taken:b"] {
                elements.extend(self.ask::<Vec<String>>("LRANGE", list, &["0", "-1"]).await);
            }
        }
        ids.extend(elements.iter().filter_map(|element| Some(element.split('"').nth(3)?.to_owned())));
        if self.key != "outcomes" {
            ids.extend(self.ask::<Vec<String>>("HKEYS", "outcomes", &[]).await);
        }
        ids
    }

    fn says<T>(&self, verb: &str, answer: &Result<T, BucketError>) {
        let Err(error) = answer else { return };
        let (error, full) = (error.to_string(), format!("{}{}", self.prefix, self.key));
        let is_named = error.contains(&format!("{full} is a string, not a"));
        assert!(is_named || error.contains("dripfeed doctor"), "{verb} with {full}: {error}");
    }

    /// Submits jobs, and checks that each is either accepted and kept, or refused without a trace.
    async fn submits_all_or_nothing(&self) {
        let before = self.accounted().await.len();
        let submitted = self.bucket.admit_many(vec![buckets::job("y"), by("bob", "late")]).await;
        let more = self.accounted().await.len() - before;
        let accepted = submitted.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(more, accepted, "{}{}: {submitted:?}", self.prefix, self.key);
        submitted.iter().for_each(|answer| self.says("submit", answer));
    }

    async fn operates(&self, waiting: JobId) {
        self.says("cancel", &self.bucket.cancel(waiting).await);
        self.says("census", &self.bucket.census().await);
        self.says("list", &self.bucket.jobs(&JobFilter::default(), None, 10).await);
        self.says("list dead", &self.bucket.dead_letters(&NO_FILTER, None, 10).await);
        self.says("retention", &self.bucket.enforce_retention().await);
        self.says("record", &self.bucket.record(None, "pause", "").await);
        let examined = self.bucket.examine(true).await.unwrap();
        let full = format!("{}{} is a string", self.prefix, self.key);
        let found = examined.findings.iter().find(|finding| finding.kind.what().contains("another type"));
        let example = found.and_then(|finding| finding.example.clone()).unwrap_or_default();
        assert!(example.contains(&full), "{full}: {examined:?}");
    }
}

async fn breaks(redis: &TestRedis, kind: Kind, number: usize, key: &str) {
    let name = format!("{}-{number}", kind.as_str());
    let bucket = buckets::open(redis, settings(kind, &name)).await;
    let (prefix, key) = (format!("dripfeed:{{{name}}}:"), key.to_owned());
    let broken = Broken { bucket: bucket.clone(), store: redis.store().await, prefix, key };
    let replica = join(&bucket, "a").await;
    let mut accepted = Vec::new();
    for n in 0..6 {
        accepted.push(submit(&bucket, by("alice", &n.to_string())).await.id);
    }
    let taken = take(&replica, 3).await;
    // The job expires before it is called, whether it is taken or not.
    let brief = Submission { expires_in: Some(Duration::from_millis(1)), ..by("alice", "brief") };
    accepted.insert(5, submit(&bucket, brief).await.id);
    let asked: BTreeSet<String> = accepted.iter().map(ToString::to_string).collect();

    broken.ask::<String>("SET", &broken.key, &["wrong"]).await;
    let ends = match kind {
        Kind::Stream => Settlement::Retry { after: Duration::ZERO },
        Kind::List => Settlement::Requeue,
    };
    let settlements = [DELIVERED, buried("no luck"), ends];
    let settled = taken.into_iter().zip(settlements).map(|(taken, settlement)| {
        let replica = replica.clone();
        tokio::spawn(async move { replica.settle(taken.claim, settlement).await })
    });
    let settled: Vec<_> = settled.collect();
    let scripts = async || redis.calls("evalsha").await;
    let begun = scripts().await;
    // The settlements fail three times as a batch, and then each alone.
    until("they are tried", async || {
        settled.iter().all(|settled| settled.is_finished()) || scripts().await > begun + 15
    })
    .await;
    broken.submits_all_or_nothing().await;
    broken.operates(*accepted.last().unwrap()).await;
    let late = replica.take(1).await;
    broken.says("take", &late);
    let of_alice = JobFilter { caller: Some("alice".to_owned()), ..JobFilter::default() };
    broken.says("bulk cancel", &bucket.cancel_many(&of_alice).await);
    broken.says("purge", &bucket.purge().await);
    let left = broken.accounted().await;
    assert!(asked.is_subset(&left), "{}{}: {asked:?}, {left:?}", broken.prefix, broken.key);

    broken.ask::<u64>("DEL", &broken.key, &[]).await;
    for settled in settled {
        settled.await.unwrap().unwrap();
    }
    if let Ok(Take::Jobs(late, _)) = late {
        for taken in late {
            replica.settle(taken.claim, DELIVERED).await.unwrap();
        }
    }
    let other = join(&bucket, "b").await;
    bucket.repair_jobs().await.unwrap();
    bucket.admit(buckets::job("z")).await.unwrap();
    bucket.purge().await.unwrap();
    while let Ok(Take::Jobs(jobs, _)) = other.take(10).await {
        for taken in jobs {
            other.settle(taken.claim, DELIVERED).await.unwrap();
        }
    }
    let ended: BTreeSet<String> = broken.ask::<Vec<String>>("HKEYS", "outcomes", &[]).await.into_iter().collect();
    assert!(asked.is_subset(&ended), "{}{}: {asked:?}, {ended:?}", broken.prefix, broken.key);
    assert_eq!(bucket.jobs(&JobFilter::default(), None, 100).await.unwrap().items.len(), 0, "{}", broken.key);
}

/// Breaks each key in turn, and fails with all keys that broke a check.
async fn breaks_each(kind: Kind, keys: impl Iterator<Item = &'static str>) {
    let redis = Arc::new(TestRedis::start().await);
    let mut wrong = Vec::new();
    for (number, key) in keys.enumerate() {
        let redis = Arc::clone(&redis);
        let broken = tokio::spawn(async move { breaks(&redis, kind, number, key).await }).await;
        wrong.extend(broken.err().map(|_| key));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn a_key_of_another_type_is_named_and_no_job_is_lost_in_a_stream() {
    breaks_each(Kind::Stream, OF_BOTH.into_iter().chain(OF_A_STREAM)).await;
}

#[tokio::test]
async fn a_key_of_another_type_is_named_and_no_job_is_lost_in_a_list() {
    breaks_each(Kind::List, OF_BOTH.into_iter().filter(|key| *key != "outbox").chain(OF_A_LIST)).await;
}

#[tokio::test]
async fn a_count_that_is_no_number_begins_again_and_no_job_is_lost() {
    let redis = TestRedis::start().await;
    let counts = ["bytes", "accepted", "delivered", "dead", "outcomes_bytes", "dead_bytes"].map(|of| ("tally", of));
    for (number, (key, field)) in counts.into_iter().chain([("meter", "call")]).enumerate() {
        let name = format!("numbers-{number}");
        let bucket = buckets::open(&redis, settings(Kind::Stream, &name)).await;
        let replica = join(&bucket, "a").await;
        let mut asked = BTreeSet::new();
        for n in 0..3 {
            asked.insert(submit(&bucket, by("alice", &n.to_string())).await.id.to_string());
        }
        let ends = [DELIVERED, buried("no luck"), Settlement::Retry { after: Duration::ZERO }];
        for (taken, end) in take(&replica, 3).await.into_iter().zip(ends) {
            redis.ask::<u64>(&format!("HSET dripfeed:{{{name}}}:{key} {field} x")).await;
            replica.settle(taken.claim, end).await.unwrap_or_else(|error| panic!("{field}: {error:?}"));
        }
        redis.ask::<u64>(&format!("HSET dripfeed:{{{name}}}:{key} {field} x")).await;
        asked.insert(submit(&bucket, buckets::job("y")).await.id.to_string());
        assert_eq!(bucket.level().await.unwrap(), 2, "{field}");
        for taken in take(&replica, 2).await {
            replica.settle(taken.claim, DELIVERED).await.unwrap();
        }
        let ended: Vec<String> = redis.ask(&format!("HKEYS dripfeed:{{{name}}}:outcomes")).await;
        assert_eq!(ended.into_iter().collect::<BTreeSet<_>>(), asked, "{field}");
    }
}

/// With a count that isn't a number everything still works: jobs are added, called and ended, replicas join and leave,
/// and the doctor counts again.
async fn goes_on_without(redis: &TestRedis, kind: Kind, name: &str, key: &str, field: &str) {
    let limits = BucketSettings { capacity: 4, max_share: Some("100%".parse().unwrap()), ..settings(kind, name) };
    let bucket = buckets::open(redis, limits).await;
    let replica = join(&bucket, "a").await;
    for n in 0..3 {
        submit(&bucket, by("alice", &n.to_string())).await;
    }
    let retry = match kind {
        Kind::Stream => Settlement::Retry { after: Duration::ZERO },
        Kind::List => Settlement::Requeue,
    };
    for end in [DELIVERED, retry] {
        replica.settle(buckets::take_one(&replica).await.claim, end).await.unwrap();
    }
    let store = redis.store().await;
    let mut spoiling = redis::cmd("HSET");
    spoiling.arg(format!("dripfeed:{{{name}}}:{key}")).arg(field).arg("x");
    let spoil = async || store.command::<u64>(&spoiling).await.unwrap();
    spoil().await;
    while matches!(bucket.admit(by("alice", &fastrand::u64(..).to_string())).await.unwrap(), Admission::Admitted(_)) {}
    spoil().await;
    let taken = take(&replica, 4).await;
    for (taken, end) in taken.into_iter().zip([buried("no luck"), Settlement::Requeue]) {
        spoil().await;
        replica.settle(taken.claim, end).await.unwrap();
    }
    spoil().await;
    assert!(!replica.beat().await.unwrap().fenced);
    spoil().await;
    let heir = join(&bucket, "b").await;
    spoil().await;
    bucket.declare_dead(replica.consumer()).await.unwrap().expect("it has jobs");
    for _ in 0..bucket.census().await.unwrap().level {
        spoil().await;
        heir.settle(buckets::take_one(&heir).await.claim, DELIVERED).await.unwrap();
    }
    bucket.enforce_retention().await.unwrap();
    bucket.examine(true).await.unwrap();
    let examined = bucket.examine(false).await.unwrap();
    assert!(examined.findings.is_empty(), "{examined:?}");
    assert_eq!(bucket.level().await.unwrap(), 0);
}

#[tokio::test]
async fn no_count_that_is_no_number_stops_a_bucket() {
    let redis = Arc::new(TestRedis::start().await);
    let of_both = [
        ("takes", "a"),
        ("replicas", "a"),
        ("holders", "alice"),
        ("holders", "alice bytes"),
        ("tally", "dead_dropped"),
        ("tally", "recovered"),
        ("tally", "refused:bucket_full"),
        ("tally", "outbox_bytes"),
        ("tally", "outbox_chains"),
        ("tally", "lost"),
        ("tally", "deadline"),
    ];
    let of_kinds = of_both.into_iter().flat_map(|(key, field)| [(Kind::Stream, key, field), (Kind::List, key, field)]);
    let mut wrong = Vec::new();
    for (number, (kind, key, field)) in of_kinds.chain([(Kind::List, "takers", "a")]).enumerate() {
        let (redis, name) = (Arc::clone(&redis), format!("count-{number}"));
        let one = tokio::spawn(async move { goes_on_without(&redis, kind, &name, key, field).await }).await;
        wrong.extend(one.err().map(|_| (kind, key, field)));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn a_counter_of_a_limit_that_is_unreadable_begins_again() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, buckets::settings("b")).await;
    let limit = json!({ "id": "of-callers", "key": ["caller"],
        "tiers": [{ "kind": "fixed", "limit": 10, "period": "1d" }] });
    bucket.set_limits(&BucketLimits::read("limits", vec![limit]).unwrap());
    let submits = async |round: &str| {
        let jobs = ["alice", "bob"].map(|caller| by(caller, &format!("{caller}-{round}")));
        bucket.admit_many(jobs.to_vec()).await
    };
    assert!(submits("first").await.iter().all(Result::is_ok));
    let counters: Vec<String> = redis.ask("KEYS dripfeed:{b}:limit:*").await;
    assert_eq!(counters.len(), 2, "{counters:?}");
    for (round, counter) in counters.iter().enumerate() {
        redis.ask::<String>(&format!("SET {counter} x")).await;
        let submitted = submits(&round.to_string()).await;
        let accepted = submitted.iter().filter(|answer| answer.is_ok()).count() as u64;
        assert_eq!(bucket.level().await.unwrap(), 2 + 2 * round as u64 + accepted, "{submitted:?}");
        assert_eq!(accepted, 2, "{submitted:?}");
    }
}

#[tokio::test]
async fn a_replicas_own_list_of_another_type_is_named() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, settings(Kind::List, "b")).await;
    let replica = join(&bucket, "a").await;
    redis.ask::<String>("SET dripfeed:{b}:taken:a wrong").await;
    submit(&bucket, buckets::job("x")).await;
    assert!(replica.take(1).await.is_err());
    let examined = bucket.examine(true).await.unwrap();
    let example = examined.findings.iter().find_map(|finding| finding.example.clone()).unwrap_or_default();
    assert!(example.contains("dripfeed:{b}:taken:a is a string, not a list"), "{examined:?}");
    redis.ask::<u64>("DEL dripfeed:{b}:taken:a").await;
    for taken in take(&replica, 1).await {
        replica.settle(taken.claim, DELIVERED).await.unwrap();
    }
    assert_eq!(bucket.level().await.unwrap(), 0);
}

#[tokio::test]
async fn a_batch_of_which_one_job_waits_for_room_is_accepted_as_far_as_it_says() {
    let redis = TestRedis::start().await;
    let of_share = BucketSettings { capacity: 10, max_share: "20%".parse().ok(), ..buckets::settings("b") };
    let bucket = buckets::open(&redis, of_share).await;
    redis.ask::<String>("SET dripfeed:{b}:parked wrong").await;
    let submitted = bucket.admit_many((0..3).map(|n| by("alice", &n.to_string())).collect()).await;
    let accepted = submitted.iter().filter(|answer| matches!(answer, Ok(Admission::Admitted(_)))).count();
    let there: usize = redis.ask("XLEN dripfeed:{b}:jobs").await;
    assert_eq!(accepted, there, "{submitted:?}");
}
