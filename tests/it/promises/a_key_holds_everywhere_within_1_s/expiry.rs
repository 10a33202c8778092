use super::*;

/// A time on the Redis clock, by which keys expire.
async fn in_seconds(service: &Service, seconds: i64) -> String {
    let (now, _): (i64, u64) = service.redis("TIME").await;
    jiff::Timestamp::from_second(now + seconds).expect("a time").to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_ends_at_its_time_everywhere() {
    let intakes = Intakes::start().await;
    let end = in_seconds(&intakes.service, 10).await;
    let document = json!({ "scopes": ["submit", "read"], "buckets": ["mail"], "not_after": end });
    let answer = put(&intakes.platform(), "brief", &document).await;
    assert_eq!((answer.status, &answer.json()["expired"]), (201, &json!(false)), "{answer:?}");
    let key = answer.text("key");
    let [one, other] = [&intakes.one, &intakes.other].map(|intake| intake.client().with_key(&key));
    assert_eq!(submit(&one, "mail").await, 202);
    assert_eq!(submit(&other, "mail").await, 202);
    let stream = other.get("/v1/events").await.expect("a stream that ends");
    assert_eq!(stream.status, 200);
    for client in [&one, &other] {
        until("it has expired", async || submit(client, "mail").await == 401).await;
    }
    let shown = get(&intakes.platform(), "/v1/keys/brief").await.json();
    assert_eq!(shown["expired"], true);
    // The key is stored again without an expiry, and is valid again.
    let longer = json!({ "scopes": ["submit"], "buckets": ["mail"] });
    assert_eq!(put(&intakes.platform(), "brief", &longer).await.json()["not_after"], Value::Null);
    assert_eq!(submit(&other, "mail").await, 202);
}

#[tokio::test]
async fn a_key_makes_none_that_lasts_longer_than_itself() {
    let service = Service::new(&settings()).await;
    let intake = service.intake().await;
    let (client, end) = (intake.client(), in_seconds(&service, 3600).await);
    let brief = json!({ "scopes": ["submit", "keys"], "buckets": ["*"], "not_after": end });
    let key = put(&client.with_key("platform"), "brief", &brief).await.text("key");
    let maker = client.with_key(&key);
    let later = in_seconds(&service, 3601).await;
    for not_after in [Value::Null, json!(later)] {
        let document = json!({ "scopes": ["submit"], "buckets": ["*"], "not_after": not_after });
        let refused = put(&maker, "child", &document).await;
        assert_eq!((refused.status, refused.text("code").as_str()), (403, "forbidden"), "{refused:?}");
        let itself = put(&maker, "brief", &document).await;
        assert_eq!(itself.status, 403, "{itself:?}");
    }
    let child = json!({ "scopes": ["submit"], "buckets": ["*"], "not_after": end });
    assert_eq!(put(&maker, "child", &child).await.status, 201);
}
