use dripfeed_store::Durability;
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::torture::failover::{Load, MasterFault, buckets};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::upstream::Upstream;

use crate::rows::Order;

pub async fn run(order: Order) -> Report {
    let upstream = Upstream::willing().await;
    let redis = Sentinels::start(2, "").await;
    let mut service = Service::over(redis, Durability::Replicated, &buckets(&upstream)).await;
    let mut load = Load::on(&service, upstream, order.load.per_second).await.with_slack(order.slack());
    load.is_kept_by(Durability::Replicated).await;
    for fault in MasterFault::in_turn(order.faults) {
        let old = service.redis.master().await;
        fault.strikes(service.redis.server_mut(old)).await;
        if fault == MasterFault::StepsDown {
            service.redis.fail_over().await;
        }
        until("another master", async || service.redis.master().await != old).await;
        load.goes_on(&format!("{fault:?}")).await;

        fault.is_over(service.redis.server_mut(old)).await;
        let old = service.redis.server(old);
        until("the old master follows the new one", async || !old.is_master().await).await;
        let scripts: String = old.ask("INFO commandstats").await;
        if fault == MasterFault::Killed {
            // It counts from its start, and was a master until a Sentinel reported it otherwise.
            assert!(!scripts.contains("cmdstat_eval"), "it was written to: {scripts}");
        }
        until("both replicas are in step", async || {
            service.redis.server(service.redis.master().await).followers().await == 2
        })
        .await;
        load.flows().await;
        service.redis.agreed().await;
    }
    load.ends(&service, "a master replaced").await
}
