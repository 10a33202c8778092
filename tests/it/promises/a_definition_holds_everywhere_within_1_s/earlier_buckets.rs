//! A bucket of the settings is later created over the API with the same name, or the other way round.

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

    // As if that idempotency key had expired, and the job of another one had been deleted by hand.
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

    // The outcomes of the earlier bucket are deleted.
    assert_eq!(service.redis::<u64>("HLEN dripfeed:{b}:outcomes").await, 1);
    assert_eq!(put(&client, "b", &calling(&upstream)).await.status, 201);
    assert_eq!(service.redis::<u64>("HLEN dripfeed:{b}:outcomes").await, 0);
    let again = client.submit_once("b", "k", "x").await.expect("an answer");
    assert_eq!((again.status, again.text("id") == once.text("id")), (202, false));
}

/// The TTL in ms of a Redis key of `b`; -1: it has none.
async fn ttl(service: &Service, key: &str) -> i64 {
    service.redis(&format!("PTTL dripfeed:{{b}}:{key}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configured_bucket_keeps_what_is_known_of_it_where_one_of_its_name_was_deleted() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let mut intake = service.intake().await;
    let client = intake.client();
    assert_eq!(put(&client, "b", &calling(&upstream)).await.status, 201);
    // As if a replica of the bucket had died.
    service.redis::<u64>("HSET dripfeed:{b}:replicas dead 1").await;
    service.redis::<u64>("HSET dripfeed:{b}:members dead 1").await;
    assert_eq!(delete(&client, "b").await.status, 204);
    assert!(ttl(&service, "control").await > 0, "for those who don't know of the deletion");
    intake.terminate();
    intake.ended().await;

    service.configure(&format!("{}[buckets.b]\nupstream = \"{}\"\n", settings(&upstream), upstream.url()));
    let (mut intake, mut processor) = tokio::join!(service.intake(), service.processor());
    let client = intake.client();
    assert_eq!(submit(&client, "b").await.status, 202);
    service.drained("b").await;
    assert_eq!(client.post("/v1/buckets/b/pause", "").await.expect("an answer").status, 200);
    for key in ["control", "audit", "replicas", "members"] {
        assert_eq!(ttl(&service, key).await, -1, "{key} would be lost, a day after that deletion");
    }
    assert_eq!(submit(&client, "b").await.status, 202);
    for process in [&mut intake, &mut processor] {
        process.terminate();
        process.ended().await;
    }

    service.configure(&settings(&upstream));
    let intake = service.intake().await;
    refuses(&intake.client(), &upstream, "configure it again to replay or delete the dead letters").await;
}
