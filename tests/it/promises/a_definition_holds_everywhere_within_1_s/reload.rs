use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_allowed_is_read_again_at_sighup_and_holds_for_what_is_defined() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    assert_eq!(put(&one, "b", &calling(&upstream)).await.status, 201);
    assert_eq!(submit(&other, "b").await.status, 202);
    upstream.has_got(1).await;

    // Its upstream is allowed no more: nobody serves it, and nothing of it is lost.
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
