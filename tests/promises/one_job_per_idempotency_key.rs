//! Promise 9: One job per idempotency key, also under a hundred parallel requests and after an unknown outcome.

use std::collections::BTreeSet;
use std::time::Duration;

use dripfeed_bucket::Bucket;
use dripfeed_store::{Durability, RedisSettings, Store};
use dripfeed_tests::buckets::{self, admitted};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use futures::future::join_all;

async fn service(upstream: &Upstream) -> Service {
    Service::new(&format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 1000", upstream.url())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_parallel_requests_over_two_intakes_make_one_job() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let clients = [service.intake().await, service.intake().await].map(|intake| (intake.client(), intake));
    let _processor = service.processor().await;
    let requests = (0..100).map(|n| clients[n % 2].0.submit_once("b", "order 7", "seven"));
    let answers = join_all(requests).await;
    let ids: BTreeSet<String> = answers
        .into_iter()
        .map(|answer| answer.expect("an answer"))
        .inspect(|answer| assert_eq!(answer.status, 202, "{answer:?}"))
        .map(|answer| answer.text("id"))
        .collect();
    assert_eq!(ids.len(), 1);
    service.drained("b").await;
    assert_eq!(upstream.calls().len(), 1);

    // Also once it has ended; and another body is no repetition.
    let again = clients[0].0.submit_once("b", "order 7", "seven").await.expect("an answer");
    assert_eq!((again.status, ids.contains(&again.text("id"))), (202, true));
    let other = clients[1].0.submit_once("b", "order 7", "eight").await.expect("an answer");
    assert_eq!((other.status, other.text("code").as_str()), (409, "idempotency_conflict"));
    assert_eq!(service.counts("b").await.accepted, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_unknown_outcome_the_same_request_makes_no_second_job() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let client = intake.client();
    // The request reaches Redis, which does it when it goes on; the answer comes too late.
    service.redis.server.pause().unwrap();
    let asked = join_all((0..20).map(|n| {
        let client = client.clone();
        async move { client.submit_once("b", &format!("order {n}"), format!("{n}")).await.expect("an answer") }
    }))
    .await;
    service.redis.server.resume().unwrap();
    for answer in &asked {
        assert_eq!((answer.status, answer.text("code").as_str()), (503, "store_unavailable"), "{answer:?}");
    }
    let unknown = asked.iter().filter(|answer| answer.text("outcome") == "unknown").count() as u64;
    assert!(unknown > 0, "none was on its way: this tells nothing");
    until("the intake reaches Redis again", async || {
        client.get("/v1/buckets/b").await.is_ok_and(|answer| answer.status == 200)
    })
    .await;
    until("and so does this test", async || service.store().ping().await.is_ok()).await;
    let stored = service.counts("b").await.accepted;
    assert!(stored <= unknown, "{stored} were stored, and only of {unknown} was it said that they may be");
    for n in 0..20 {
        let again = client.submit_once("b", &format!("order {n}"), format!("{n}")).await.expect("an answer");
        assert_eq!(again.status, 202, "{again:?}");
    }
    let _processor = service.processor().await;
    service.drained("b").await;
    let bodies: Vec<String> = upstream.calls().iter().map(|call| call.text().to_owned()).collect();
    assert_eq!((bodies.len(), bodies.iter().collect::<BTreeSet<_>>().len()), (20, 20), "{bodies:?}");
    assert_eq!(service.counts("b").await.accepted, 20);
}

/// Without a key, too: the bucket itself asks again, under a token of its own.
#[tokio::test]
async fn when_the_answer_comes_too_late_the_job_is_asked_for_again_and_is_one() {
    let redis = TestRedis::start().await;
    let hasty = RedisSettings {
        response_timeout: Duration::from_millis(100),
        ..RedisSettings::new(redis.server.address(), "dripfeed", Durability::Everysec)
    };
    let bucket = Bucket::new(Store::connect(&hasty).await.unwrap(), buckets::settings("b"));
    let first = buckets::submit(&bucket, buckets::job("Redis knows the script from now on")).await;
    // Each call that was sent meanwhile is carried out when Redis goes on, one after the other.
    redis.server.pause().unwrap();
    let submitting = tokio::spawn({
        let bucket = bucket.clone();
        async move { bucket.admit(buckets::job("x")).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    redis.server.resume().unwrap();
    let admitted = admitted(submitting.await.unwrap());
    let calm = Bucket::new(redis.store().await, buckets::settings("b"));
    let jobs = calm.jobs(None, None, 10).await.unwrap().items;
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [first.id, admitted.id]);
}
