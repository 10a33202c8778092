//! A replay of many outlives the intake that carries it out.

use dripfeed_bucket::Bucket;
use dripfeed_tests::buckets::{self, buried, join, settle, submit, take_one};
use dripfeed_tests::service::{Service, until};
use http::Method;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
const LETTERS: u64 = 30;

#[tokio::test]
async fn another_intake_resumes_the_replay_of_a_killed_intake() {
    let service = Service::new(BUCKET).await;
    let (mut doomed, heir) = tokio::join!(service.intake(), service.intake());
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "undertaker").await;
    for _ in 0..LETTERS {
        submit(&bucket, buckets::job("x")).await;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    let client = doomed.client();
    let request = client.request(Method::POST, "/v1/buckets/b/dead/replays");
    let started = client.call(request, r#"{"rate": "4/s"}"#).await.expect("an answer");
    assert_eq!(started.status, 202, "{started:?}");
    let path = started.headers["location"].to_str().expect("text").to_owned();
    let seen = async || heir.client().get(&path).await.expect("an answer").json();
    until("some are replayed", async || seen().await["done"].as_u64() > Some(2)).await;
    doomed.kill().await;
    let then = seen().await;
    assert_eq!((&then["state"], &then["total"]), (&"running".into(), &LETTERS.into()));
    until("the replay is done", async || seen().await["state"] == "done").await;
    assert_eq!((&seen().await["done"], &seen().await["failed"]), (&LETTERS.into(), &0.into()));
    let census = bucket.census().await.expect("Redis answers");
    assert_eq!((census.level, census.dead), (LETTERS, 0));
}
