//! A Cluster whose slots are moved: what is answered where, halfway.

use std::time::Duration;

use dripfeed_store::{Certainty, Durability, ErrorKind, RedisSettings, Script, Store};
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::redis_server::RunningRedis;
use dripfeed_tests::service::Service;
use redis::{cmd, pipe};

use super::readiness::until_ready;

const MASTERS: usize = 3;

static COUNT: Script = Script::new("count", &[], "return redis.call('INCR', KEYS[1])");

/// Moves the slot of `key` to the next node; `halfway` is called when all of its keys are there, and the slot isn't.
async fn move_slot(cluster: &TestCluster, key: &str, halfway: impl AsyncFnOnce()) {
    let to = (cluster.owner_of(key).await + 1) % MASTERS;
    cluster.move_slot_of(key, to, || halfway()).await;
}

/// Replicas have time to confirm, also on a busy machine.
async fn replicated(cluster: &TestCluster) -> Store {
    let settings = RedisSettings::new(cluster.url().parse().expect("an address"), "dripfeed", Durability::Replicated);
    let patient = RedisSettings { response_timeout: Duration::from_secs(20), ..settings };
    Store::connect(&patient).await.expect("the Cluster answers")
}

async fn counted(store: &Store, key: &str) -> (u32, u32) {
    let count = COUNT.on(&[key]);
    (store.run(&count).await.expect("a script"), store.run_durably(&count).await.expect("a durable script"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_has_moved_is_found_before_its_slot_has() {
    let cluster = TestCluster::start(MASTERS, 0, "").await;
    let store = cluster.store(Durability::Everysec).await;
    assert_eq!(counted(&store, "{k}").await, (1, 2));
    move_slot(&cluster, "{k}", async || {
        assert_eq!(counted(&store, "{k}").await, (3, 4));
        let at_key = store.clone().for_key("{k}");
        assert_eq!(at_key.command::<u32>(cmd("GET").arg("{k}")).await.expect("a command"), 4);
        let both: (u32, u32) = at_key.pipeline(pipe().incr("{k}", 1).get("{k}")).await.expect("a pipeline");
        assert_eq!(both, (5, 5));
        assert_eq!(store.command::<u32>(cmd("GET").arg("{k}")).await.expect("a command of an unknown slot"), 5);
        assert_eq!(counted(&store, "{k}:new").await, (1, 2), "a key that was nowhere");
    })
    .await;
    assert_eq!(counted(&store, "{k}").await, (6, 7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replicated_script_runs_before_during_and_after_the_move_of_its_slot() {
    let cluster = TestCluster::start(MASTERS, 1, "").await;
    let store = replicated(&cluster).await;
    assert_eq!(counted(&store, "{k}").await, (1, 2));
    move_slot(&cluster, "{k}", async || assert_eq!(counted(&store, "{k}").await, (3, 4))).await;
    assert_eq!(counted(&store, "{k}").await, (5, 6));
}

/// The key of the script hasn't moved, and what its WAIT needs has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partly_executed_request_is_not_repeated_on_another_node() {
    let cluster = TestCluster::start(MASTERS, 1, "").await;
    let store = replicated(&cluster).await;
    assert_eq!(counted(&store, "{k}").await, (1, 2));
    let from = cluster.owner_of("{k}").await;
    let (from, to) = (cluster.node(from), cluster.node((from + 1) % MASTERS));
    let slot: u16 = from.redis.ask("CLUSTER KEYSLOT {k}").await;
    to.redis.ask::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", from.id)).await;
    from.redis.ask::<()>("DEL dripfeed:{k}:waited").await;
    from.redis.ask::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", to.id)).await;
    let error = store.run_durably::<u32>(&COUNT.on(&["{k}"])).await.expect_err("it can't be confirmed");
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::NotReplicated, Certainty::Unknown), "{error}");
    from.redis.ask::<()>(&format!("CLUSTER SETSLOT {slot} STABLE")).await;
    assert_eq!(from.redis.ask::<u32>("GET {k}").await, 3, "once");
    assert_eq!(to.redis.ask::<u32>("DBSIZE").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_start_while_the_slot_of_the_installation_moves() {
    let cluster = TestCluster::start(MASTERS, 0, "").await;
    let bucket = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
    let service = Service::over(cluster, Durability::Everysec, bucket).await;
    let _first = service.intake().await;
    move_slot(&service.redis, "{@installation}", async || {
        let (intake, _processor) = (service.intake().await, service.processor().await);
        until_ready(&intake.client(), true).await;
        assert_eq!(intake.client().submit("b", "x").await.expect("an answer").status, 202);
    })
    .await;
}

/// The user may not ask for what has moved: it waits until the slot has moved too, as for the rest of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acl_without_asking_is_no_denial_of_access() {
    let cluster = TestCluster::start(MASTERS, 0, "").await;
    for number in 0..MASTERS {
        cluster.node(number).redis.ask::<()>("ACL SETUSER default -asking").await;
    }
    let store = cluster.store(Durability::Everysec).await;
    assert_eq!(counted(&store, "{k}").await, (1, 2));
    move_slot(&cluster, "{k}", async || {
        let refusal = store.run::<u32>(&COUNT.on(&["{k}"])).await.expect_err("it can't be asked");
        assert_eq!(refusal.code(), Some("ASK"), "{refusal}");
    })
    .await;
    assert_eq!(counted(&store, "{k}").await, (3, 4));
}

/// As behind a proxy that hides addresses: a node names the port alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirection_without_a_host_leads_to_the_same_host() {
    let cluster = TestCluster::start(MASTERS, 0, "--cluster-preferred-endpoint-type unknown-endpoint").await;
    let store = cluster.store(Durability::Everysec).await;
    for key in ["{a}", "{b}", "{c}", "{d}", "{e}"] {
        store.command::<()>(cmd("SET").arg(key).arg(1)).await.expect("it is stored where it belongs");
        move_slot(&cluster, key, async || assert_eq!(counted(&store, key).await, (2, 3))).await;
        assert_eq!(counted(&store, key).await, (4, 5));
    }
}
