//! A bucket that left the settings without jobs, but with outcome jobs that wait for another bucket.

use dripfeed_bucket::{Bucket, BucketSettings, OnOutcome, OutcomeTarget};
use dripfeed_job::Ending;
use dripfeed_tests::buckets::{self as units, DELIVERED, join, settle, submit, take_one};
use dripfeed_tests::service::Service;

use super::buckets;

const JOBS: usize = 3;

/// Its outcome jobs are for `crm`.
async fn leave_outcome_jobs(service: &Service) -> Bucket {
    let target = OutcomeTarget { bucket: "crm".parse().expect("a name"), outcomes: vec![Ending::Delivered] };
    let on_outcome = OnOutcome { targets: vec![target], most: 100, bytes: 1 << 20 };
    let partner = Bucket::new(service.store().clone(), BucketSettings { on_outcome, ..units::settings("partner") });
    let replica = join(&partner, "gone").await;
    for _ in 0..JOBS {
        submit(&partner, units::job("x")).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
    }
    assert_eq!(partner.outcome_jobs().await.expect("Redis answers"), JOBS as u64);
    service.silence("partner stream ").await;
    service.redis::<u64>("HSET dripfeed:{partner}:schedules nightly {}").await;
    partner
}

async fn schedules(service: &Service) -> u64 {
    service.redis("HLEN dripfeed:{partner}:schedules").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_gives_them_to_their_bucket() {
    let service = Service::new(&buckets(&[("post", ""), ("crm", "")])).await;
    leave_outcome_jobs(&service).await;
    let (code, said) = service.run(&["doctor"]).await;
    assert!(code == Some(1) && said.contains("outcome jobs of a stream that no process serves"), "{said}");

    let (code, said) = service.run(&["drain", "partner", "--into", "post"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("`partner` has no jobs, but 3 outcome jobs: 3 outcome jobs handed over"), "{said}");
    assert_eq!((service.level("crm").await, service.level("post").await, schedules(&service).await), (3, 0, 0));
    let (code, said) = service.run(&["doctor"]).await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_does_not_know_their_bucket_changes_nothing_and_a_drain_that_does_delivers_them() {
    let service = Service::new(&buckets(&[("post", "")])).await;
    let partner = leave_outcome_jobs(&service).await;
    submit(&partner, units::job("y")).await;
    let (code, said) = service.run(&["drain", "partner", "--into", "post"]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("3 outcome jobs for `crm`") && said.contains("-c OLD drain partner"), "{said}");
    assert_eq!((service.level("partner").await, service.level("post").await, schedules(&service).await), (1, 0, 1));
    let (code, said) = service.run(&["drain", "other"]).await;
    assert!(code == Some(78) && said.contains("1 job and 3 outcome jobs"), "{said}");

    // The outcome jobs are of earlier settings than these.
    partner.purge().await.expect("Redis answers");
    service.configure(&buckets(&[("partner", ""), ("crm", "")]));
    let (code, said) = service.run(&["drain", "partner"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("has no jobs, but had 3 outcome jobs"), "{said}");
    assert_eq!((service.level("crm").await, schedules(&service).await), (3, 0));
}
