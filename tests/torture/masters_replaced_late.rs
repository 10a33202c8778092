use std::time::Duration;

use dripfeed_store::Durability;
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::torture::failover::{Load, MasterFault, buckets};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::upstream::Upstream;

use crate::rows::Order;

/// Most of the response timeout, what waiting for the replicas takes included.
const LATE: Duration = Duration::from_millis(120);
/// Calls per second, and those that may come at once.
const PACE: (u64, u64) = (100, 10);

/// The pace is kept though each permit is late, and nothing that was answered with 202 is lost.
pub async fn run(order: Order) -> Report {
    let upstream = Upstream::willing().await;
    let (rate, burst) = PACE;
    let paced = format!("{}\nleak = {{ rate = \"{rate}/s\", burst = {burst} }}\n", buckets(&upstream));
    let redis = Sentinels::start_behind_proxies(2).await;
    let mut service = Service::over(redis, Durability::Replicated, &paced).await;
    let mut load =
        Load::on(&service, upstream, order.load.per_second).await.with_slack(order.slack()).paced(rate, burst);
    load.is_kept_by(Durability::Replicated).await;
    for fault in MasterFault::in_turn(order.faults) {
        service.redis.answer_late(LATE);
        load.flows().await;
        let old = service.redis.master().await;
        fault.strikes(service.redis.server_mut(old)).await;
        if fault == MasterFault::StepsDown {
            service.redis.fail_over().await;
        }
        until("another master", async || service.redis.master().await != old).await;
        load.goes_on_once_followed(&service.redis, &format!("{fault:?} while replies are late")).await;

        service.redis.answer_late(Duration::ZERO);
        fault.is_over(service.redis.server_mut(old)).await;
        let old = service.redis.server(old);
        until("the old master follows the new one", async || !old.is_master().await).await;
        until("both replicas are in step", async || {
            service.redis.server(service.redis.master().await).followers().await == 2
        })
        .await;
        load.flows().await;
        service.redis.agreed().await;
    }
    load.ends(&service, "a master replaced while replies were late").await
}
