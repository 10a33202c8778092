//! A deletion that its process didn't bring to an end: a bucket whose deletion wasn't decided is used again a minute
//! later by whatever comes first, and one whose deletion was decided never.

use dripfeed_bucket::Kind;
use dripfeed_tests::redis_fault_proxy::ProxyFault;

use super::deletions::Deletions;
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_whose_deletion_was_decided_stays_deleted_for_more_than_a_day() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    deletions.created().await;
    deletions.proxy.plan("delete_definition", ProxyFault::Drop, 1);
    assert_eq!(delete(&deletions.deleting.client(), "b").await.status, 503);
    // What the TTL of a day does.
    assert_eq!(deletions.service.redis::<u64>("DEL dripfeed:{b}:control").await, 1);
    for intake in [&deletions.other, &deletions.deleting] {
        assert_eq!(submit(&intake.client(), "b").await.status, 404);
        assert_eq!(get(&intake.client(), "/v1/buckets").await.json()["items"], json!([]));
    }
    deletions.created().await;
    assert_eq!(submit(&deletions.other.client(), "b").await.status, 202);
}
