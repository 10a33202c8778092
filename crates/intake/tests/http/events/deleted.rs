use dripfeed_bucket::Bucket;

use super::*;

#[tokio::test]
async fn a_bucket_that_was_just_deleted_is_in_no_frame() {
    let harness = Harness::start().await;
    let made = Bucket::defined(harness.store.clone(), settings("made"), 7);
    made.open(1).await.unwrap();
    harness.buckets.change(std::slice::from_ref(&made), &[]);
    let mut frames = Frames::open(&harness, "/v1/events?states=made", &[]).await;
    frames.until(|frame| frame["states"][0]["name"] == "made").await;
    // This intake doesn't know that yet.
    let mut close = redis::cmd("HSET");
    close.arg("dripfeed:{made}:control").arg(&["closed", "1", "version", "x"]);
    harness.store.command::<()>(&close).await.unwrap();
    let later = frames.until(|frame| frame["states"].as_array().unwrap().is_empty()).await;
    assert_eq!((&later["unavailable"], &later["summary"]["buckets"]), (&json!([]), &json!(2)));
}
