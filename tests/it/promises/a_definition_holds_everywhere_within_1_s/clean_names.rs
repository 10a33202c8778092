use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

/// Refuses the third job of a caller. Calls are limited by what a bucket of this name has used up.
fn limited(upstream: &Upstream) -> Value {
    json!({
        "upstream": upstream.url(),
        "fair": { "rate": "1/h", "burst": 5 },
        "limits": [{ "id": "each", "tiers": [{ "kind": "fixed", "limit": 2, "period": "1d" }] }],
    })
}

async fn used(client: &Client, service: &Service) {
    let once = client.submit_once("b", "k", "404").await.expect("an answer");
    assert_eq!(once.status, 202, "{once:?}");
    assert_eq!(submit(client, "b").await.status, 202);
    assert_eq!(submit(client, "b").await.text("code"), "caller_limit");
    assert_eq!(define_yearly(client).await, 200);
    assert_eq!(client.patch("/v1/buckets/b", r#"{"leak":{"concurrency":3}}"#).await.expect("an answer").status, 200);
    service.drained("b").await;
}

async fn define_yearly(client: &Client) -> u16 {
    let schedule = client.request(Method::PUT, "/v1/buckets/b/schedules/yearly");
    client.call(schedule, r#"{"every":"366d","job":{"body":1}}"#).await.expect("an answer").status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_name_comes_back_clean() {
    let upstream = Upstream::start(|call| async move {
        dripfeed_tests::upstream::Answer::Status(if call.text() == "404" { 404 } else { 200 })
    })
    .await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    put(&one, "b", &limited(&upstream)).await;
    used(&one, &roles.service).await;
    until("the letter is there", async || get(&one, "/v1/buckets/b").await.number("dead") == 1).await;
    assert_eq!(delete(&one, "b").await.status, 204);
    let left: Vec<String> = roles.service.redis("KEYS dripfeed:{b}:*").await;
    for key in &left {
        // A key without a TTL would stay for ever. A replica that leaves may delete its key meanwhile.
        let ttl: i64 = roles.service.redis(&format!("PTTL {key}")).await;
        let is_gone = ttl == -2;
        assert!(ttl > 0 || is_gone, "{key}: {left:?}");
        let of_a_day = 23 * 3_600_000..=24 * 3_600_000;
        assert!(!key.ends_with(":audit") || of_a_day.contains(&ttl), "the audit log is kept for {ttl} ms");
    }
    assert!(left.iter().any(|key| key.ends_with(":audit")), "{left:?}");
    let noted: Vec<String> = roles.service.redis("HKEYS dripfeed:{@installation}:schedules").await;
    assert_eq!(noted, ["@"], "nor does its name stay");

    assert_eq!(put(&one, "b", &limited(&upstream)).await.status, 201);
    // Each of these intakes may still know the previous bucket of this name.
    for client in [&other, &one] {
        let state = get(client, "/v1/buckets/b").await;
        assert_eq!((state.number("dead"), &state.json()["changes"]), (0, &json!({})), "{state:?}");
        for list in ["outcomes", "dead", "schedules", "jobs"] {
            assert_eq!(get(client, &format!("/v1/buckets/b/{list}")).await.json()["items"], json!([]), "{list}");
        }
        let holders = get(client, "/v1/buckets/b/holders").await.json();
        assert_eq!(holders["limits"], json!({}), "what limits of the one before decided");
    }
    let calls = upstream.count();
    used(&other, &roles.service).await;
    assert_eq!(upstream.count(), calls + 2, "the same idempotency key names another job");
    let audit = get(&one, "/v1/buckets/b/audit").await.json();
    let actions = audit["items"].as_array().into_iter().flatten().filter(|entry| entry["action"] == "define");
    let details: Vec<&str> = actions.filter_map(|entry| entry["detail"].as_str()).collect();
    assert_eq!(details, ["created", "deleted, with 1 schedule", "created"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_with_jobs_stays_and_a_purge_ends_them() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let intake = service.intake().await;
    let client = intake.client();
    put(&client, "b", &calling(&upstream)).await;
    assert_eq!(submit(&client, "b").await.status, 202);
    let refused = delete(&client, "b").await;
    assert_eq!((refused.status, refused.text("code").as_str()), (409, "bucket_not_empty"));
    assert_eq!(submit(&client, "b").await.status, 202, "it is open");
    assert_eq!(delete(&client, "b?purge=true").await.status, 204);
    assert_eq!(submit(&client, "b").await.status, 404);
    assert_eq!(delete(&client, "b").await.status, 404);
}

/// The entries about ended jobs in the bucket's audit log, the latest first.
async fn noted(client: &Client) -> Vec<(String, String)> {
    let audit = get(client, "/v1/buckets/b/audit").await.json();
    let of = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let entries =
        audit["items"].as_array().into_iter().flatten().map(|entry| (of(entry, "action"), of(entry, "detail")));
    entries.filter(|(action, detail)| action == "purge" || detail == "deleted").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_a_deletion_cancels_are_counted_and_noted() {
    let upstream = Upstream::start(|_| std::future::pending()).await;
    let roles = Roles::start(&upstream).await;
    let client = roles.one.client();
    let one_at_once = json!({ "upstream": upstream.url(), "leak": { "concurrency": 1 } });
    put(&client, "b", &one_at_once).await;
    for _ in 0..3 {
        assert_eq!(submit(&client, "b").await.status, 202);
    }
    until("one is called", async || get(&client, "/v1/buckets/b").await.number("in_flight") == 1).await;
    let refused = delete(&client, "b?purge=true").await;
    assert_eq!((refused.status, refused.text("code").as_str()), (409, "bucket_not_empty"));
    assert_eq!(get(&client, "/v1/buckets/b").await.number("waiting"), 0, "two were cancelled");
    let entry = |action: &str, detail: &str| (action.to_owned(), detail.to_owned());
    assert_eq!(noted(&client).await, [entry("purge", "2 jobs")]);
    let metrics = String::from_utf8_lossy(&get(&client, "/metrics").await.body).into_owned();
    let cancelled = "dripfeed_jobs_settled_total{bucket=\"b\",outcome=\"cancelled\"} 2";
    assert!(metrics.contains(cancelled), "{metrics}");
    assert_eq!(delete(&client, "b?purge=true").await.status, 409);
    assert_eq!(noted(&client).await.len(), 1, "nothing was cancelled");

    roles.service.redis::<u64>("DEL dripfeed:{b}:jobs").await;
    put(&client, "b", &json!({ "upstream": upstream.url(), "leak": { "rate": "1/h", "burst": 1 } })).await;
    assert_eq!(client.post("/v1/buckets/b/pause", "").await.expect("an answer").status, 200);
    for _ in 0..3 {
        assert_eq!(submit(&client, "b").await.status, 202);
    }
    assert_eq!(delete(&client, "b?purge=true").await.status, 204);
    put(&client, "b", &one_at_once).await;
    let all = noted(&client).await;
    assert_eq!(all, [entry("purge", "3 jobs"), entry("define", "deleted"), entry("purge", "2 jobs")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_may_come_back_as_another_kind() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    for kind in ["stream", "list", "stream"] {
        let definition = json!({ "upstream": upstream.url(), "kind": kind });
        assert_eq!(put(&one, "b", &definition).await.status, 201);
        assert_eq!(submit(&other, "b").await.status, 202);
        until("it is called", async || get(&one, "/v1/buckets/b").await.number("level") == 0).await;
        let another = if kind == "list" { "stream" } else { "list" };
        let definition = json!({ "upstream": upstream.url(), "kind": another });
        assert_eq!(put(&one, "b", &definition).await.status, 422, "not while it is there");
        assert_eq!(delete(&one, "b").await.status, 204);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_cut_off_in_the_middle_is_done_by_the_next() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    put(&one, "b", &calling(&upstream)).await;
    // As if the creating intake had been stopped before it opened the bucket: the first submission opens it.
    roles.service.redis::<u64>("DEL dripfeed:{b}:control").await;
    roles.service.redis::<u64>("HSET dripfeed:{b}:control incarnation 1 closed 1 version x").await;
    assert_eq!(submit(&other, "b").await.status, 202);
    roles.service.drained("b").await;
    // The definition of a schedule opens it, too.
    roles.service.redis::<u64>("DEL dripfeed:{b}:control").await;
    assert_eq!(define_yearly(&other).await, 200);
    // As if the deleting intake had been stopped after it closed the bucket.
    roles.service.redis::<u64>("HSET dripfeed:{b}:control closed 1 version y").await;
    assert_eq!(submit(&other, "b").await.status, 404);
    roles.service.redis::<u64>("DEL dripfeed:{b}:schedules dripfeed:{b}:schedules:state").await;
    assert_eq!(define_yearly(&other).await, 404);
    let noted: u64 = roles.service.redis("HEXISTS dripfeed:{@installation}:schedules b").await;
    assert_eq!(noted, 0, "intakes would look for its schedules");
    let replay = other.post("/v1/buckets/b/dead/replays", "").await.expect("an answer");
    assert_eq!(replay.status, 404, "{replay:?}");
    let left: u64 = roles.service.redis("EXISTS dripfeed:{b}:schedules dripfeed:{b}:dead:replays").await;
    assert_eq!(left, 0, "they would stay for ever");
    assert_eq!(delete(&other, "b").await.status, 204);
    assert_eq!(put(&one, "b", &calling(&upstream)).await.status, 201);
    assert_eq!(submit(&other, "b").await.status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doctor_looks_at_defined_buckets_too() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let intake = service.intake().await;
    put(&intake.client(), "b", &calling(&upstream)).await;
    assert_eq!(submit(&intake.client(), "b").await.status, 202);
    let (code, said) = service.run(&["doctor", "b"]).await;
    assert_eq!(code, Some(0), "{said}");
    service.redis::<u64>("HINCRBY dripfeed:{b}:tally bytes 7").await;
    let (code, said) = service.run(&["doctor"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("bytes"), "{said}");
}

/// The request begins before the deletion, and its body ends after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_outlives_its_bucket_leaves_no_metrics_of_it() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let intake = service.intake().await;
    let client = intake.client();
    put(&client, "b", &calling(&upstream)).await;
    let address = intake.url().replace("http://", "");
    let mut slow = TcpStream::connect(&address).await.expect("the intake listens");
    let head = format!("POST /v1/buckets/b/jobs HTTP/1.1\r\nHost: {address}\r\nExpect: 100-continue\r\n");
    slow.write_all(format!("{head}Content-Length: 2\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .expect("a connection");
    let mut goes_on = [0; 25];
    slow.read_exact(&mut goes_on).await.expect("it waits for the body");
    assert!(goes_on.starts_with(b"HTTP/1.1 100 Continue"));
    assert_eq!(delete(&client, "b").await.status, 204);
    until("the intake knows it no more", async || get(&client, "/v1/buckets/b").await.status == 404).await;

    slow.write_all(b"xy").await.expect("a connection");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let metrics = String::from_utf8_lossy(&get(&client, "/metrics").await.body).into_owned();
    assert!(!metrics.contains("bucket=\"b\""), "{metrics}");
}
