use dripfeed_store::Durability;
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::torture::failover::{Load, MasterFault, buckets};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::upstream::Upstream;

use crate::rows::Order;
use crate::slots_moved::KEY;

pub async fn run(order: Order) -> Report {
    let upstream = Upstream::willing().await;
    let cluster = TestCluster::start(3, 2, "").await;
    let mut service = Service::over(cluster, Durability::Replicated, &buckets(&upstream)).await;
    let mut load = Load::on(&service, upstream, order.load.per_second).await.with_slack(order.slack());
    load.is_kept_by(Durability::Replicated).await;
    for fault in MasterFault::in_turn(order.faults) {
        let old = service.redis.owner_of(KEY).await;
        fault.strikes(&mut service.redis.node_mut(old).redis).await;
        if fault == MasterFault::StepsDown {
            service.redis.steps_in(service.redis.replica_of(old).await).await;
        }
        until("another master", async || service.redis.owner_without(old, KEY).await != old).await;
        load.goes_on(&format!("{fault:?}")).await;

        fault.is_over(&mut service.redis.node_mut(old).redis).await;
        let old = &service.redis.node(old).redis;
        until("the old master follows the new one", async || !old.is_master().await).await;
        until("both replicas are in step", async || {
            service.redis.node(service.redis.owner_of(KEY).await).redis.followers().await == 2
        })
        .await;
        load.flows().await;
        service.redis.agreed().await;
    }
    load.ends(&service, "a node replaced").await
}
