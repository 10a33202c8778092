use dripfeed_store::Durability;
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::service::Service;
use dripfeed_tests::torture::failover::{Load, buckets};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::upstream::Upstream;

use crate::rows::Order;

/// A key of the bucket: all of them are in its slot.
pub const KEY: &str = "dripfeed:{b}:jobs";

pub async fn run(order: Order) -> Report {
    let upstream = Upstream::willing().await;
    let service = Service::over(TestCluster::start(3, 0, "").await, Durability::Everysec, &buckets(&upstream)).await;
    let mut load = Load::on(&service, upstream, order.load.per_second).await.with_slack(order.slack());
    for _ in 0..order.faults {
        let from = service.redis.owner_of(KEY).await;
        service
            .redis
            .move_slot_of(KEY, (from + 1) % 3, async || {
                let refused = load.client().submit("b", "x").await.expect("an answer");
                assert_eq!((refused.status, refused.text("outcome").as_str()), (503, "not_stored"), "{refused:?}");
            })
            .await;
        load.goes_on("moves").await;
        assert_eq!(service.redis.owner_of(KEY).await, (from + 1) % 3);
    }
    load.ends(&service, "a slot moved").await
}
