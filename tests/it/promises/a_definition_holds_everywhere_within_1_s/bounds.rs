use super::*;

#[tokio::test]
async fn number_and_bytes_of_all_defined_buckets_are_bounded() {
    let define = "[define]\nupstreams = [\"https://a.example\"]\nmost = 3\nbytes = \"10MiB\"\n";
    let service = Service::new(define).await;
    let intake = service.intake().await;
    let client = intake.client();
    let sized = |mib: u64| json!({ "upstream": "https://a.example/", "capacity_bytes": format!("{mib}MiB") });
    assert_eq!(put(&client, "a", &sized(6)).await.status, 201);
    let refused = put(&client, "b", &sized(5)).await;
    assert_eq!((refused.status, refused.text("code").as_str()), (422, "many_buckets"), "{refused:?}");
    assert_eq!(put(&client, "b", &sized(4)).await.status, 201);
    assert_eq!(put(&client, "a", &sized(7)).await.status, 422, "nor do changes go beyond it");
    assert_eq!(put(&client, "a", &sized(1)).await.status, 200);
    assert_eq!(put(&client, "c", &sized(1)).await.status, 201);
    assert_eq!(put(&client, "d", &sized(1)).await.text("code"), "many_buckets");
    assert_eq!(delete(&client, "c").await.status, 204);
    assert_eq!(put(&client, "d", &sized(5)).await.status, 201);
    // A change at run time to more than the allowed bytes is refused, too.
    let larger = client.patch("/v1/buckets/d", r#"{"capacity_bytes": "1GiB"}"#).await.expect("an answer");
    assert_eq!(larger.status, 422, "{larger:?}");
}

/// As `dripfeed check --connect` counts them.
#[tokio::test]
async fn buckets_that_may_be_created_count_in_the_worst_case() {
    let service = Service::new("[define]\nupstreams = [\"https://a.example\"]\nmost = 3\nbytes = \"1GiB\"\n").await;
    let intake = service.intake().await;
    let client = intake.client();
    let worst_case = async || client.get("/v1/redis").await.expect("an answer").json()["worst_case_bytes"].as_u64();
    let of_none = worst_case().await.expect("a number");
    assert!(of_none > 1 << 30, "{of_none}");
    assert_eq!(put(&client, "a", &json!({ "upstream": "https://a.example/" })).await.status, 201);
    assert_eq!(worst_case().await, Some(of_none), "it counts already");
}

#[tokio::test]
async fn what_deleted_buckets_leave_is_bounded() {
    let service = Service::new("[define]\nupstreams = [\"https://a.example\"]\n").await;
    let intake = service.intake().await;
    let client = intake.client();
    let sized = json!({ "upstream": "https://a.example/" });
    assert_eq!(put(&client, "a", &sized).await.status, 201);
    assert_eq!(delete(&client, "a").await.status, 204);
    let deleted_at: String = service.redis("ZSCORE dripfeed:{@buckets}:deleted a").await;
    let others: Vec<String> = (1..10_000).map(|n| format!("{deleted_at} other-{n}")).collect();
    for others in others.chunks(1000) {
        service.redis::<u64>(&format!("ZADD dripfeed:{{@buckets}}:deleted {}", others.join(" "))).await;
    }
    let refused = put(&client, "b", &sized).await;
    assert_eq!((refused.status, refused.text("code").as_str()), (422, "many_buckets"), "{refused:?}");
    assert!(refused.text("detail").contains("deleted within the last 24 hours"), "{refused:?}");
    assert_eq!(put(&client, "a", &sized).await.status, 201, "the name of one of them");
    assert_eq!(put(&client, "b", &sized).await.status, 201, "one fewer is deleted");
    assert_eq!(put(&client, "c", &sized).await.status, 201);
    assert_eq!(delete(&client, "c").await.status, 204);
    assert_eq!(put(&client, "d", &sized).await.status, 422);
    service.redis::<u64>("ZADD dripfeed:{@buckets}:deleted 1 other-1").await;
    assert_eq!(put(&client, "d", &sized).await.status, 201, "that was more than a day ago");
}

#[tokio::test]
async fn calls_at_once_of_a_defined_bucket_are_bounded() {
    let define = "[define]\nupstreams = [\"https://a.example\"]\nconcurrency = 20\n";
    let service = Service::new(define).await;
    let intake = service.intake().await;
    let client = intake.client();
    let calls = |number: u64| json!({ "upstream": "https://a.example/", "leak": { "concurrency": number } });
    let refused = put(&client, "b", &calls(21)).await;
    assert_eq!((refused.status, refused.text("member").as_str()), (422, "leak.concurrency"), "{refused:?}");
    assert_eq!(put(&client, "b", &calls(20)).await.status, 201);
    let patch = async |calls: u64| {
        client
            .patch("/v1/buckets/b", &json!({ "leak": { "concurrency": calls } }).to_string())
            .await
            .expect("an answer")
    };
    let larger = patch(21).await;
    assert_eq!((larger.status, larger.text("member").as_str()), (422, "leak.concurrency"), "{larger:?}");
    assert_eq!(patch(20).await.status, 200);
}

#[tokio::test]
async fn a_definition_keeps_no_more_than_the_defaults() {
    let service = Service::new("[define]\nupstreams = [\"https://a.example\"]\n").await;
    let intake = service.intake().await;
    for (member, value) in [
        ("capacity", json!(100_000_000)),
        ("keep", json!({ "most_outcomes": 100_000_000 })),
        ("keep", json!({ "outcomes_bytes": "1TiB" })),
        ("keep", json!({ "most_idempotency_keys": 100_000_000 })),
        ("schedules_bytes", json!("1TiB")),
    ] {
        let definition = json!({ "upstream": "https://a.example/", member: value });
        let answer = put(&intake.client(), "b", &definition).await;
        assert_eq!((answer.status, answer.text("code").as_str()), (422, "bad_member"), "{definition}: {answer:?}");
    }
}
