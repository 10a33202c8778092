use dripfeed_job::Ending;
use http::StatusCode;
use standardwebhooks::Webhook;

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::Feed;

const OLD: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
const NEW: &str = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4";

#[tokio::test]
async fn each_attempt_is_signed_anew_under_one_id_with_both_secrets() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream_that_is_signed_for(&[NEW, OLD]))]);
    let id = admitted(&bucket, job("meat")).await;
    for answer in [StatusCode::BAD_GATEWAY, StatusCode::OK] {
        let call = feed.call().await;
        assert_eq!(call.header("webhook-id"), format!("feed/{id}"));
        for secret in [OLD, NEW] {
            assert!(Webhook::new(secret).unwrap().verify(call.body.as_bytes(), &call.headers).is_ok());
        }
        call.answer(answer);
    }
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);

    // A secret that is taken out while jobs are under way signs no more.
    work.processor.reconcile(vec![(bucket.clone(), feed.upstream_that_is_signed_for(&[NEW]))]);
    admitted(&bucket, job("fish")).await;
    let call = feed.call().await;
    assert!(Webhook::new(NEW).unwrap().verify(call.body.as_bytes(), &call.headers).is_ok());
    assert!(Webhook::new(OLD).unwrap().verify(call.body.as_bytes(), &call.headers).is_err());
    call.ok();
    work.ended().await;
}
