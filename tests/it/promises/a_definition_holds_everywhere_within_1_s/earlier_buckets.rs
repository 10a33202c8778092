//! A name with something left of a bucket that was configured once.

use super::*;

async fn refuses(client: &Client, upstream: &Upstream, what: &str) {
    let refused = put(client, "b", &calling(upstream)).await;
    assert_eq!((refused.status, refused.text("code").as_str()), (409, "bucket_not_empty"), "{what}: {refused:?}");
    assert!(refused.text("detail").contains(what), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_configured_bucket_has_left_is_not_erased_by_another_of_its_name() {
    let upstream = Upstream::willing().await;
    let configured = format!("{}[buckets.b]\nupstream = \"{}\"\n", settings(&upstream), upstream.url());
    let service = Service::new(&configured).await;
    let (mut intake, processor) = tokio::join!(service.intake(), service.processor());
    let once = intake.client().submit_once("b", "k", "x").await.expect("an answer");
    assert_eq!(once.status, 202, "{once:?}");
    service.drained("b").await;
    intake.terminate();
    intake.ended().await;
    drop(processor);

    service.configure(&settings(&upstream));
    let intake = service.intake().await;
    let client = intake.client();
    refuses(&client, &upstream, "idempotency keys").await;
    let ends: Vec<String> = service.redis("ZRANGE dripfeed:{b}:idempotency:ends 0 -1").await;
    assert_eq!(ends.len(), 1);

    // As if the time of that key had passed, and another job had been deleted by hand.
    service.redis::<u64>(&format!("ZADD dripfeed:{{b}}:idempotency:ends 1 {}", ends[0])).await;
    service.redis::<u64>("HSET dripfeed:{b}:idempotency:jobs 7-0 dripfeed:{b}:once:other").await;
    refuses(&client, &upstream, "idempotency keys").await;
    service.redis::<u64>("DEL dripfeed:{b}:idempotency:jobs").await;
    service.redis::<u64>("HSET dripfeed:{b}:schedules daily {}").await;
    refuses(&client, &upstream, "schedules").await;
    service.redis::<u64>("DEL dripfeed:{b}:schedules").await;
    let outcome_job: String = service.redis("XADD dripfeed:{b}:outbox * to other job 7-0").await;
    refuses(&client, &upstream, "outcome jobs").await;
    service.redis::<u64>(&format!("XDEL dripfeed:{{b}}:outbox {outcome_job}")).await;

    // Its outcomes go with it.
    assert_eq!(service.redis::<u64>("HLEN dripfeed:{b}:outcomes").await, 1);
    assert_eq!(put(&client, "b", &calling(&upstream)).await.status, 201);
    assert_eq!(service.redis::<u64>("HLEN dripfeed:{b}:outcomes").await, 0);
    let again = client.submit_once("b", "k", "x").await.expect("an answer");
    assert_eq!((again.status, again.text("id") == once.text("id")), (202, false));
}
