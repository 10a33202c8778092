use dripfeed_store::Durability;
use dripfeed_tests::callers::until_taken;
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;

use crate::{Load, TAKING_AGAIN, buckets};

/// A key of the bucket: all of them are in its slot.
const KEY: &str = "dripfeed:{b}:jobs";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buckets_slot_moves_under_load_and_nothing_accepted_is_lost() {
    let upstream = Upstream::willing().await;
    let service = Service::over(TestCluster::start(3, 0, "").await, Durability::Everysec, &buckets(&upstream)).await;
    let load = Load::on(&service, upstream).await;
    let client = load.intakes[0].client();
    for _ in 0..3 {
        let from = service.redis.owner_of(KEY).await;
        service
            .redis
            .move_slot_of(KEY, (from + 1) % 3, async || {
                let refused = client.submit("b", "x").await.expect("an answer");
                assert_eq!((refused.status, refused.text("outcome").as_str()), (503, "not_stored"), "{refused:?}");
            })
            .await;
        let again = until_taken(&client, "b").await;
        println!("taking again {again:?} after the move");
        assert!(again < TAKING_AGAIN, "it took {again:?}");
        load.flows().await;
        assert_eq!(service.redis.owner_of(KEY).await, (from + 1) % 3);
    }
    load.ends_well(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_replaced_under_load_and_nothing_accepted_is_lost() {
    let upstream = Upstream::willing().await;
    let cluster = TestCluster::start(3, 2, "").await;
    let mut service = Service::over(cluster, Durability::Replicated, &buckets(&upstream)).await;
    let load = Load::on(&service, upstream).await;
    let client = load.intakes[0].client();
    let accepted = client.submit("b", "x").await.expect("an answer");
    assert_eq!((accepted.status, accepted.text("durability").as_str()), (202, "replicated"));

    for fault in ["killed", "hangs", "steps down"] {
        let old = service.redis.owner_of(KEY).await;
        match fault {
            "killed" => service.redis.node_mut(old).redis.server.kill().await.expect("it runs"),
            "hangs" => service.redis.node(old).redis.server.pause().expect("it runs"),
            _ => {
                let replica = service.redis.replica_of(old).await;
                service.redis.steps_in(replica).await;
            }
        }
        until("another master", async || service.redis.owner_without(old, KEY).await != old).await;
        let again = until_taken(&client, "b").await;
        println!("{fault}: taking again {again:?} after there was a master");
        assert!(again < TAKING_AGAIN, "{fault}: it took {again:?}");
        load.flows().await;

        match fault {
            "killed" => service.redis.node_mut(old).redis.server.start_again().await.expect("it starts"),
            "hangs" => service.redis.node(old).redis.server.resume().expect("it runs"),
            _ => {}
        }
        let old = &service.redis.node(old).redis;
        until("the old master follows the new one", async || !old.is_master().await).await;
        let master = &service.redis.node(service.redis.owner_of(KEY).await).redis;
        until("both replicas are in step", async || master.followers().await == 2).await;
        load.flows().await;
        service.redis.agreed().await;
    }
    load.ends_well(&service).await;
}
