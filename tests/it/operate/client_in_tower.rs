//! The Rust client as a service of tower, behind layers that know errors as `BoxError` only.

use dripfeed_client::{BucketName, Client, ClientError, NewJob, Retries};
use dripfeed_tests::service::Service;
use tower::{BoxError, ServiceExt as _, service_fn};

#[tokio::test]
async fn a_layer_can_find_out_whether_and_when_to_retry_a_push() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 1\n").await;
    let intake = service.intake().await;
    let client = Client::builder(intake.url()).retries(Retries::NONE).build().expect("a client");
    let bucket: BucketName = "b".parse().expect("a name");
    let push = service_fn(|job: NewJob| {
        let (client, bucket) = (client.clone(), bucket.clone());
        async move { client.push(&bucket, &job).await }
    });
    let push = push.map_err(BoxError::from);

    push.clone().oneshot(NewJob::new("first")).await.expect("a receipt");
    let refused = push.clone().oneshot(NewJob::new("second")).await.expect_err("the bucket is full");
    let refused = refused.downcast_ref::<ClientError>().expect("the error of the client");
    assert!(refused.is_retryable() && refused.retry_after().is_some(), "{refused:?}");
    let invalid = push.oneshot(NewJob::new("third").path("..")).await.expect_err("no path climbs out of the upstream");
    let invalid = invalid.downcast_ref::<ClientError>().expect("the error of the client");
    assert!(!invalid.is_retryable() && invalid.retry_after().is_none(), "{invalid:?}");
}
