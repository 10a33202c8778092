use dripfeed_store::Durability;
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::torture::failover::{Load, buckets};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::upstream::Upstream;

use crate::rows::Order;
use crate::slots_moved::KEY;

/// How a node goes that serves the bucket.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    /// Its connections stay open, and it believes to be the master when it goes on.
    Hangs,
    /// An operator has a replica of it promoted.
    StepsDown,
}

impl Fault {
    async fn strikes(self, cluster: &mut TestCluster, node: usize) {
        match self {
            Self::Killed => cluster.node_mut(node).redis.server.kill().await.expect("it runs"),
            Self::Hangs => cluster.node(node).redis.server.pause().expect("it runs"),
            Self::StepsDown => cluster.steps_in(cluster.replica_of(node).await).await,
        }
    }

    async fn is_over(self, cluster: &mut TestCluster, node: usize) {
        match self {
            Self::Killed => cluster.node_mut(node).redis.server.start_again().await.expect("it starts"),
            Self::Hangs => cluster.node(node).redis.server.resume().expect("it runs"),
            Self::StepsDown => {}
        }
    }
}

pub async fn run(order: Order) -> Report {
    let upstream = Upstream::willing().await;
    let cluster = TestCluster::start(3, 2, "").await;
    let mut service = Service::over(cluster, Durability::Replicated, &buckets(&upstream)).await;
    let mut load = Load::on(&service, upstream, order.load.per_second).await;
    for fault in [Fault::Killed, Fault::Hangs, Fault::StepsDown].into_iter().cycle().take(order.faults as usize) {
        let old = service.redis.owner_of(KEY).await;
        fault.strikes(&mut service.redis, old).await;
        until("another master", async || service.redis.owner_without(old, KEY).await != old).await;
        load.goes_on(&format!("{fault:?}")).await;

        fault.is_over(&mut service.redis, old).await;
        let old = &service.redis.node(old).redis;
        until("the old master follows the new one", async || !old.is_master().await).await;
        let master = &service.redis.node(service.redis.owner_of(KEY).await).redis;
        until("both replicas are in step", async || master.followers().await == 2).await;
        load.flows().await;
        service.redis.agreed().await;
    }
    load.ends(&service, "a node replaced").await
}
