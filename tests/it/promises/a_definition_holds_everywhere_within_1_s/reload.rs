use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_allowed_is_read_again_at_sighup_and_holds_for_what_is_defined() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    assert_eq!(put(&one, "b", &calling(&upstream)).await.status, 201);
    assert_eq!(submit(&other, "b").await.status, 202);
    upstream.has_got(1).await;

    // The bucket's upstream isn't allowed any more: no process serves the bucket, but nothing in it is lost.
    roles.service.configure("[define]\nupstreams = [\"https://other.example\"]\nmost = 1\n");
    for role in [&roles.one, &roles.other, &roles.processor] {
        role.hang_up();
    }
    for client in [&one, &other] {
        until("it is served no more", async || submit(client, "b").await.status == 404).await;
    }
    until("the processor has left it", async || roles.processor.log().contains("this replica has left the bucket"))
        .await;
    let refused = put(&one, "c", &calling(&upstream)).await;
    assert_eq!((refused.status, refused.text("member").as_str()), (422, "upstream"), "{refused:?}");
    let many = put(&one, "c", &json!({ "upstream": "https://other.example/" })).await;
    assert_eq!((many.status, many.text("code").as_str()), (422, "many_buckets"), "{many:?}");

    roles.service.configure(&settings(&upstream));
    for role in [&roles.one, &roles.other, &roles.processor] {
        role.hang_up();
    }
    for client in [&one, &other] {
        until("it is served again", async || submit(client, "b").await.status == 202).await;
    }
    roles.service.drained("b").await;
    assert_eq!(put(&one, "c", &calling(&upstream)).await.status, 201);
}

/// An intake that no longer allows the upstream of the bucket `b`, and allows only one bucket.
async fn not_allowed(definition: impl Fn(&Upstream) -> Value) -> (Upstream, Service, Process) {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let intake = service.intake().await;
    assert_eq!(put(&intake.client(), "b", &definition(&upstream)).await.status, 201);
    service.configure("[define]\nupstreams = [\"https://other.example\"]\nmost = 1\n");
    intake.hang_up();
    until("it is served no more", async || get(&intake.client(), "/v1/buckets/b").await.status == 404).await;
    (upstream, service, intake)
}

fn allowed() -> Value {
    json!({ "upstream": "https://other.example/" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_allowed_any_more_can_be_deleted() {
    let (_upstream, _service, intake) = not_allowed(calling).await;
    let client = intake.client();
    assert_eq!(put(&client, "c", &allowed()).await.text("code"), "many_buckets");
    let deleted = delete(&client, "b").await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(put(&client, "c", &allowed()).await.status, 201);
    assert_eq!(delete(&client, "b").await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_definition_ends_its_deletion() {
    let (_upstream, service, intake) = not_allowed(calling).await;
    // As if the deleting intake had been stopped after the deletion was decided.
    let stored: String = service.redis("HGET dripfeed:{@buckets}:definitions b").await;
    let mut mark = redis::cmd("HSET");
    mark.arg("dripfeed:{@buckets}:definitions").arg("b").arg(stored.replacen('{', "{\"deleting\":true,", 1));
    service.store().command::<u64>(&mark).await.expect("Redis answers");
    let defined = put(&intake.client(), "b", &allowed()).await;
    assert_eq!(defined.status, 201, "{defined:?}");
    assert_eq!(submit(&intake.client(), "b").await.status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_definition_keeps_its_kind() {
    let list = |upstream: &Upstream| json!({ "upstream": upstream.url(), "kind": "list" });
    let (_upstream, _service, intake) = not_allowed(list).await;
    let changed = put(&intake.client(), "b", &allowed()).await;
    assert_eq!((changed.status, changed.text("member").as_str()), (422, "kind"), "{changed:?}");
    let mut kept = allowed();
    kept["kind"] = json!("list");
    assert_eq!(put(&intake.client(), "b", &kept).await.status, 200);
}
