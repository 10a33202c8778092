//! Redis Cluster: all that can happen to a job happens on the node that has its bucket, and what can't work there is
//! refused.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_limit::{Limiter, Request, load};
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{self, join, submit};
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::lifecycles::{go_all_ways, go_the_ways_of_a_stream, settings};
use dripfeed_tests::processes::command;
use dripfeed_tests::redis_server::RunningRedis;
use dripfeed_tests::service::{PATIENCE, TIMEOUTS};
use serde_json::json;

/// A bucket's name for each of the three nodes.
async fn one_on_each(cluster: &TestCluster) -> BTreeMap<usize, String> {
    let mut names = BTreeMap::new();
    for name in 'a'..='z' {
        let owner = cluster.owner_of(&format!("{{{name}}}")).await;
        names.entry(owner).or_insert_with(|| name.to_string());
    }
    assert_eq!(names.len(), 3, "{names:?}");
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buckets_whole_life_is_on_the_node_that_has_it() {
    let cluster = TestCluster::start(3, 0, "").await;
    let names = one_on_each(&cluster).await;
    let store = cluster.store(Durability::Everysec).await;
    for (node, name) in &names {
        let bucket = Bucket::new(store.clone(), settings(name, Kind::Stream));
        go_all_ways(&bucket, &store).await;
        go_the_ways_of_a_stream(&bucket, &store).await;
        let list = Bucket::new(store.clone(), settings(&format!("list-{name}"), Kind::List));
        go_all_ways(&list, &store).await;
        for (other, _) in names.iter().filter(|(other, _)| *other != node) {
            let keys: Vec<String> = cluster.node(*other).redis.ask("KEYS *").await;
            assert!(!keys.iter().any(|key| key.contains(&format!("{{{name}}}"))), "{keys:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_caller_is_notified_after_the_slot_has_moved() {
    let cluster = TestCluster::start(3, 0, "").await;
    let bucket = Bucket::new(cluster.store(Durability::Everysec).await, buckets::settings("b"));
    let replica = join(&bucket, "a").await;
    submit(&bucket, buckets::job("first")).await;
    let taken = buckets::take_one(&replica).await;
    let Take::Idle(idle) = replica.take(1).await.unwrap() else { panic!("nothing else is there") };
    let from = cluster.owner_of("{b}").await;
    let heard = async {
        cluster.move_slot_of("{b}", (from + 1) % 3, async || ()).await;
        submit(&bucket, buckets::job("second")).await;
    };
    let waits = async {
        while matches!(replica.take(1).await, Ok(Take::Idle(_)) | Err(_)) {
            replica.wait(&idle).await;
        }
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(waits, heard) }).await.expect("it is heard of");
    buckets::settle(&replica, taken, buckets::DELIVERED).await;
    assert_eq!(cluster.owner_of("{b}").await, (from + 1) % 3);
}

async fn allowed(limiter: &Limiter, times: usize) -> usize {
    let mut allowed = 0;
    for _ in 0..times {
        allowed += usize::from(limiter.decide(&Request::default()).await.unwrap().allowed);
    }
    allowed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_on_every_node_and_in_every_consistency() {
    let cluster = TestCluster::start(3, 0, "").await;
    let store: Store = cluster.store(Durability::Everysec).await;
    for name in one_on_each(&cluster).await.values() {
        for consistency in ["strict", "leased", "async"] {
            let mut policies = json!({ "policies": [{
                "id": consistency, "consistency": consistency,
                "tiers": [{ "kind": "bucket", "rate": "1/h", "burst": 20 }],
            }] });
            if consistency == "async" {
                policies["policies"][0]["sync"] = json!("50ms");
            }
            let policies = || load::document(policies.clone()).unwrap_or_else(|error| panic!("{error}"));
            let one = Limiter::with_timeout(store.clone(), name, policies(), PATIENCE).unwrap();
            let first = allowed(&one, 30).await;
            one.close().await.unwrap();
            let other = Limiter::with_timeout(store.clone(), name, policies(), PATIENCE).unwrap();
            let mut both = first;
            while allowed(&other, 1).await == 1 {
                both += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let right = match consistency {
                "strict" => both == 20,
                // It holds a part back.
                "leased" => (1..=20).contains(&both),
                // The other one learns of the first within a sync, and then has nothing left.
                _ => (20..35).contains(&both),
            };
            assert!(right, "{consistency}: {both}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_cannot_work_in_a_cluster_are_refused_with_a_reason() {
    let cluster = TestCluster::start(3, 0, "").await;
    let file = cluster.folder().join("dripfeed.toml");
    let checked = async |redis: &str, bucket: &str| {
        let upstream = "upstream = \"http://127.0.0.1:9/\"";
        let bucket = format!("redis.url = \"{redis}\"\n{TIMEOUTS}[buckets.b]\n{upstream}\n{bucket}");
        fs::write(&file, bucket).expect("a file of settings");
        let mut command = command(["-c"]);
        let output = command.arg(&file).args(["check", "--connect"]).output().await.expect("the executable");
        let printed = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        (output.status.code(), printed)
    };
    let (code, told) = checked(&cluster.url(), "key = \"a{b}\"").await;
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told.matches(" at redis://").count(), 3, "each node is named: {told}");

    let (code, told) = checked(&cluster.url(), "key = \"elsewhere\"").await;
    assert!(code == Some(78) && told.contains("buckets.b.key") && told.contains("{b}"), "{code:?} {told}");

    let one = cluster.url().replace("redis+cluster", "redis").split(',').next().expect("a node").to_owned();
    let (code, told) = checked(&one, "").await;
    assert!(code == Some(78) && told.contains("redis+cluster://"), "{code:?} {told}");

    let lone = dripfeed_tests::redis_server::TestRedis::start().await;
    let port = dripfeed_tests::redis_server::free_port();
    lone.ask::<()>(&format!("CONFIG SET port {port}")).await;
    let (code, told) = checked(&format!("redis+cluster://127.0.0.1:{port}"), "").await;
    assert!(code != Some(0) && told.contains("not a Cluster"), "{code:?} {told}");

    cluster.node(2).redis.ask::<()>("CONFIG SET maxmemory-policy allkeys-lru").await;
    let (code, told) = checked(&cluster.url(), "").await;
    assert!(code == Some(78) && told.contains("allkeys-lru"), "{code:?} {told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buckets_are_defined_and_deleted_whichever_node_has_them() {
    let cluster = TestCluster::start(3, 0, "").await;
    let names = one_on_each(&cluster).await;
    let store = cluster.store(Durability::Everysec).await;
    let bounds = DefinitionBounds { most: 10, bytes: 1 << 30 };
    let (mut known, definition) = (KnownDefinitions::default(), json!({ "upstream": "https://a.example/" }));
    for name in names.values() {
        let bucket = name.parse().unwrap();
        assert_eq!(leftover_data(&store, &bucket).await.unwrap(), None);
        let new = NewDefinition {
            bucket: &bucket,
            known: None,
            capacity_bytes: 1 << 20,
            by: None,
            definition: &definition,
            sealed: None,
        };
        assert!(matches!(new.put(&store, bounds).await.unwrap(), PutDefinitionResult::Done { .. }));
    }
    assert_eq!(known.follow(&store).await.unwrap().len(), names.len());
    for name in names.values() {
        let defined = known.get(name).unwrap();
        let bucket = Bucket::defined(store.clone(), settings(name, Kind::Stream), defined.incarnation);
        assert!(matches!(bucket.admit(buckets::job("early")).await, Err(BucketError::Gone)), "it isn't open");
        assert_eq!(bucket.open(defined.version).await.unwrap(), OpenResult::Open);
        let idempotency_key = dripfeed_job::idempotency::IdempotencyKey::parse("k").ok();
        submit(&bucket, dripfeed_job::Submission { idempotency_key, ..buckets::job("x") }).await;
        assert_eq!(bucket.close().await.unwrap(), CloseResult::Jobs(1));
        assert!(matches!(bucket.suspend(defined.version, false).await.unwrap(), SuspendResult::Jobs(1, _)));
        let SuspendResult::Done(last) = bucket.suspend(defined.version, true).await.unwrap() else {
            panic!("it waits")
        };
        assert_eq!(bucket.open(defined.version).await.unwrap(), OpenResult::Suspended);
        assert_eq!(defined.begin_deletion(&store).await.unwrap(), BeginDeletionResult::Begun);
        assert_eq!(bucket.purge_until(last).await.unwrap(), 1);
        assert_eq!(bucket.close().await.unwrap(), CloseResult::Done);
        assert!(matches!(bucket.admit(buckets::job("late")).await, Err(BucketError::Gone)));
        assert!(defined.delete(&store).await.unwrap());
        assert!(!defined.delete(&store).await.unwrap());
    }
    let gone = known.follow(&store).await.unwrap();
    assert!(gone.iter().all(|change| matches!(change, DefinitionChange::Deleted(_))), "{gone:?}");
    assert_eq!((gone.len(), known.iter().count()), (names.len(), 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_node_down_the_others_are_still_checked() {
    let mut cluster = TestCluster::start(3, 0, "--cluster-require-full-coverage no").await;
    let names = one_on_each(&cluster).await;
    let mut settings = format!("redis.url = \"{}\"\n{TIMEOUTS}", cluster.url());
    for name in names.values() {
        settings += &format!("[buckets.{name}]\nupstream = \"http://127.0.0.1:9/\"\n");
    }
    let file = cluster.folder().join("dripfeed.toml");
    fs::write(&file, settings).expect("a file of settings");
    cluster.node_mut(1).redis.server.kill().await.unwrap();
    let run = async |arguments: &[&str]| {
        let mut command = command(["-c"]);
        let output = command.arg(&file).args(arguments).output().await.expect("the executable");
        let printed = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert_eq!(output.status.code(), Some(69), "{printed}");
        assert!(printed.contains("nodes of Redis that can't be reached: 1"), "{printed}");
        printed
    };
    let (checked, examined) = (run(&["check", "--connect"]).await, run(&["doctor"]).await);
    assert_eq!(checked.matches(" at redis://").count(), 2, "{checked}");
    for (node, name) in &names {
        let is_away = *node == 1;
        let level = format!("bucket {name}: 0 of 1000 jobs");
        assert_eq!(checked.contains(&level), !is_away, "{name}: {checked}");
        assert_eq!(checked.contains(&format!("error: bucket {name}: ")), is_away, "{name}: {checked}");
        assert_eq!(examined.contains(&format!("{name}: not checked: ")), is_away, "{name}: {examined}");
    }
    assert!(examined.contains("all checked invariants hold"), "{examined}");
}
