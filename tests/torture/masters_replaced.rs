use dripfeed_store::Durability;
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::torture::failover::{Load, buckets};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::upstream::Upstream;

use crate::rows::Order;

/// How a master goes.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    /// Its connections stay open, and it believes to be the master when it goes on.
    Hangs,
    /// An operator has another one promoted.
    StepsDown,
}

impl Fault {
    async fn strikes(self, redis: &mut Sentinels, master: usize) {
        match self {
            Self::Killed => redis.server_mut(master).server.kill().await.expect("it runs"),
            Self::Hangs => redis.server(master).server.pause().expect("it runs"),
            Self::StepsDown => redis.fail_over().await,
        }
    }

    async fn is_over(self, redis: &mut Sentinels, master: usize) {
        match self {
            Self::Killed => redis.server_mut(master).server.start_again().await.expect("it starts"),
            Self::Hangs => redis.server(master).server.resume().expect("it runs"),
            Self::StepsDown => {}
        }
    }
}

pub async fn run(order: Order) -> Report {
    let upstream = Upstream::willing().await;
    let redis = Sentinels::start(2, "").await;
    let mut service = Service::over(redis, Durability::Replicated, &buckets(&upstream)).await;
    let mut load = Load::on(&service, upstream, order.load.per_second).await;
    for fault in [Fault::Killed, Fault::Hangs, Fault::StepsDown].into_iter().cycle().take(order.faults as usize) {
        let old = service.redis.master().await;
        fault.strikes(&mut service.redis, old).await;
        until("another master", async || service.redis.master().await != old).await;
        load.goes_on(&format!("{fault:?}")).await;

        fault.is_over(&mut service.redis, old).await;
        let old = service.redis.server(old);
        until("the old master follows the new one", async || !old.is_master().await).await;
        let scripts: String = old.tell("INFO commandstats").await;
        if matches!(fault, Fault::Killed) {
            // It counts from its start, and was a master until a Sentinel told it otherwise.
            assert!(!scripts.contains("cmdstat_eval"), "it was written to: {scripts}");
        }
        let master = service.redis.server(service.redis.master().await);
        until("both replicas are in step", async || master.followers().await == 2).await;
        load.flows().await;
        service.redis.agreed().await;
    }
    load.ends(&service, "a master replaced").await
}
