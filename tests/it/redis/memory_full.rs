//! At maxmemory Redis takes no new work. Every verb that drains or operates a bucket works, because it is the way out.

use std::collections::BTreeSet;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_store::{Durability, ErrorKind, Store};
use dripfeed_tests::buckets::{
    self, DELIVERED, buried, changed, job, join, settle, submit, take, take_one, takes_nothing,
};
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::{TestRedis, patient};
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use http::Method;

const LEASE: Duration = Duration::from_mins(1);

async fn set_maxmemory(store: &Store, bytes: u64) {
    let mut set = redis::cmd("CONFIG");
    set.arg("SET").arg("maxmemory").arg(bytes);
    store.command::<()>(&set).await.unwrap();
}

async fn level(bucket: &Bucket) -> u64 {
    bucket.census().await.unwrap().level
}

async fn admits_nothing(bucket: &Bucket) -> bool {
    matches!(bucket.admit(job("new")).await, Err(BucketError::Store(error)) if error.kind() == ErrorKind::Full)
}

/// Takes what there is, and delivers it.
async fn drain(replica: &Replica) -> usize {
    let mut delivered = 0;
    loop {
        match replica.take(10).await.unwrap() {
            Take::Jobs(jobs, _) => {
                for taken in jobs {
                    assert_eq!(settle(replica, taken, DELIVERED).await, SettleResult::Recorded);
                    delivered += 1;
                }
            }
            Take::Idle(_) => return delivered,
            Take::Fenced => panic!("it lives"),
        }
    }
}

#[tokio::test]
async fn a_repeated_submission_is_answered_at_maxmemory() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = Bucket::new(store.clone(), buckets::settings("b"));
    let of = |caller: &str| Submission {
        caller: Some(caller.to_owned()),
        idempotency_key: IdempotencyKey::parse("one").ok(),
        ..job(caller)
    };
    // In one call, so that nobody has a place among those that wait yet.
    for admission in bucket.admit_many(vec![of("shop"), of("mill")]).await {
        buckets::admitted(admission);
    }
    set_maxmemory(&store, 1).await;
    assert!(admits_nothing(&bucket).await);
    assert!(submit(&bucket, of("shop")).await.repeated);
}

/// `full` is the server that has the bucket.
async fn works_at_maxmemory(store: &Store, full: &Store, kind: Kind) {
    let name = format!("at-{}", kind.as_str());
    let bucket = Bucket::new(store.clone(), BucketSettings { kind, ..buckets::settings(&name) });
    let dying = join(&bucket, "dying").await;
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(submit(&bucket, job(n.to_string())).await.id);
    }
    for _ in 0..2 {
        submit(&bucket, Submission { caller: Some("shop".to_owned()), ..job("x") }).await;
    }
    let letter = take_one(&dying).await;
    let letter_id = letter.claim.id();
    settle(&dying, letter, buried("no luck")).await;
    let lost = take(&dying, 2).await;

    set_maxmemory(full, 1).await;
    assert!(admits_nothing(&bucket).await);
    // A bucket that is empty can be served too: nobody ever joined this one.
    let fresh = Bucket::new(store.clone(), BucketSettings { kind, ..buckets::settings("fresh") });
    if kind == Kind::Stream {
        assert!(takes_nothing(&join(&fresh, "first").await).await);
    }
    let heir = join(&bucket, "heir").await;
    assert!(!heir.beat().await.unwrap().fenced);
    let recovery = bucket.declare_dead(dying.consumer()).await.unwrap().expect("it doesn't beat");
    assert_eq!(recovery.recovered, 2);
    assert_eq!(settle(&dying, lost.into_iter().next().unwrap(), DELIVERED).await, SettleResult::Fenced);

    bucket.pause().await.unwrap();
    assert!(takes_nothing(&heir).await);
    bucket.resume().await.unwrap();
    bucket.apply_overrides(&changed("capacity", 2)).await.unwrap();
    assert_eq!(bucket.census().await.unwrap().capacity, 2);

    assert_eq!(settle(&heir, take_one(&heir).await, Settlement::Requeue).await, SettleResult::Recorded);
    let failed = take_one(&heir).await;
    let retry = Settlement::Retry { after: Duration::ZERO };
    assert_eq!(settle(&heir, failed, retry).await, SettleResult::Recorded);
    assert_eq!(settle(&heir, take_one(&heir).await, buried("no luck")).await, SettleResult::Recorded);

    assert_eq!(bucket.cancel(*ids.last().unwrap()).await.unwrap(), CancelResult::Cancelled);
    let of_shop = JobFilter { caller: Some("shop".to_owned()), ..JobFilter::default() };
    // One may have had its turn.
    assert!((1..=2).contains(&bucket.cancel_many(&of_shop).await.unwrap()));
    assert!(bucket.delete_dead(letter_id).await.unwrap());
    let left = level(&bucket).await;
    let leaver = join(&bucket, "leaver").await;
    take(&leaver, 2).await;
    leaver.leave().await.unwrap();
    take_one(&heir).await;
    assert!(bucket.purge().await.unwrap() >= left - 3);
    bucket.record(Some("ops"), "purge", "all").await.unwrap();
    assert_eq!(bucket.audit_trail().await.unwrap()[0].detail, "all");
    drain(&heir).await;
    assert!(admits_nothing(&bucket).await);

    set_maxmemory(full, 0).await;
    let census = bucket.census().await.unwrap();
    let ended: u64 = census.ended.iter().map(|(_, count)| count).sum();
    assert_eq!(census.accepted, ended + census.level);
}

#[tokio::test]
async fn every_verb_that_drains_or_operates_works_and_new_work_is_refused() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    for kind in [Kind::Stream, Kind::List] {
        works_at_maxmemory(&store, &store, kind).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_verb_that_drains_or_operates_works_in_a_cluster() {
    let cluster = TestCluster::start(3, 0, "").await;
    let store = cluster.store(Durability::Everysec).await;
    for kind in [Kind::Stream, Kind::List] {
        for full in store.masters() {
            set_maxmemory(&full, 1).await;
        }
        for full in store.masters() {
            set_maxmemory(&full, 0).await;
        }
        let owner = cluster.owner_of(&format!("{{at-{}}}", kind.as_str())).await;
        let full = cluster.node(owner).redis.store().await;
        works_at_maxmemory(&store, &full, kind).await;
    }
}

#[tokio::test]
async fn one_lost_reply_to_a_take_does_not_stop_a_replica() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let proxy = RedisFaultProxy::before(&redis).await;
        let settings = patient(proxy.url().parse().unwrap(), Durability::Everysec);
        let store = Store::connect(&settings).await.unwrap();
        let bucket = Bucket::new(store.clone(), BucketSettings { kind, ..buckets::settings("b") });
        let replica = bucket.join(Consumer::new("a"), LEASE, JoinKind::First).await.unwrap();
        submit(&bucket, job("1")).await;
        assert_eq!(drain(&replica).await, 1);
        submit(&bucket, job("2")).await;
        set_maxmemory(&redis.store().await, 1).await;
        proxy.plan("take", ProxyFault::Close, 1);
        replica.take(1).await.unwrap_err();
        store.connected().await;
        assert_eq!(drain(&replica).await, 1);
        assert_eq!(level(&bucket).await, 0);
    }
}

#[tokio::test]
async fn the_doctor_repairs_at_maxmemory() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = Bucket::new(store.clone(), buckets::settings("b"));
    let replica = join(&bucket, "a").await;
    submit(&bucket, job("1")).await;
    let id = take_one(&replica).await.claim.id();
    redis.ask::<u64>(&format!("XACK dripfeed:{{b}}:jobs processors {id}")).await;
    set_maxmemory(&store, 1).await;
    let kinds = async |repair| -> Vec<FindingKind> {
        bucket.examine(repair).await.unwrap().findings.iter().map(|finding| finding.kind).collect()
    };
    assert_eq!(kinds(true).await, [FindingKind::Stranded]);
    assert_eq!(kinds(false).await, []);
    assert_eq!(drain(&replica).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_processor_starts_a_dead_ones_jobs_come_back_and_operators_are_heard() {
    let upstream = Upstream::start(|call| async move {
        if call.headers.get("user-agent").is_some_and(|agent| agent == "victim") {
            std::future::pending::<()>().await;
        }
        Answer::Status(200)
    })
    .await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    let intake = service.intake().await;
    let mut victim = service.role("processor", &["buckets.b.headers={ User-Agent = \"victim\" }"]).await;
    let client = intake.client();
    for n in 0..10 {
        assert_eq!(client.submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    upstream.has_got(10).await;
    let post = async |path: &str| client.call(client.request(Method::POST, path), "").await.expect("an answer").status;
    assert_eq!(post("/v1/buckets/b/pause").await, 200);

    service.redis.ask::<()>("CONFIG SET maxmemory 1").await;
    assert_eq!(client.submit("b", "new").await.expect("an answer").status, 507);
    victim.kill().await;
    let _heir = service.processor().await;
    until("the dead one's jobs are back", async || service.counts("b").await.parked == 10).await;
    assert_eq!(post("/v1/buckets/b/resume").await, 200);
    let patch = client.request(Method::PATCH, "/v1/buckets/b").header("content-type", "application/json");
    let lowered = client.call(patch, r#"{"capacity":5}"#).await.expect("an answer");
    assert_eq!((lowered.status, lowered.json()["capacity"].as_u64()), (200, Some(5)));
    service.drained("b").await;
    let calls = upstream.calls();
    let delivered: BTreeSet<_> = calls.iter().skip(10).map(|call| call.text()).collect();
    assert_eq!(delivered.len(), 10, "{delivered:?}");
    assert_eq!(client.submit("b", "new").await.expect("an answer").status, 507);
}
