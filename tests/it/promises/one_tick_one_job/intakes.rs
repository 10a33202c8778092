use std::collections::BTreeMap;

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::{LONG, NEXT};

const NIGHTLY: &str = "/v1/buckets/b/schedules/nightly";

pub(super) async fn put(client: &Client, path: &str, body: &Value) -> ClientResponse {
    client.call(client.request(Method::PUT, path), body.to_string()).await.expect("an answer")
}

async fn service(upstream: &Upstream) -> Service {
    Service::new(&format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 1000", upstream.url())).await
}

/// Makes this the next tick, and notifies all intakes.
pub(super) async fn move_to(service: &Service, name: &str, tick: u64) {
    let _: u64 = service.redis(&format!("ZADD {NEXT} {tick} {name}")).await;
    for field in ["b", "@"] {
        let _: u64 = service.redis(&format!("HINCRBY dripfeed:{{@installation}}:schedules {field} 1")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_job_of_a_tick_reaches_the_upstream_as_it_was_defined() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let client = intake.client();
    let definition = json!({
        "cron": "30 2 * * MON", "zone": "Europe/Berlin",
        "job": {"body": {"b": 1, "a": 2.50}, "options": {"method": "PUT", "path": "/x", "forward": {"X-Shop": "7"}}},
    });
    let defined = put(&client, NIGHTLY, &definition).await;
    assert_eq!(defined.status, 200, "{defined:?}");
    let monday = 1_767_576_600_000_u64;
    move_to(&service, "nightly", monday).await;
    upstream.has_got(1).await;
    let call = upstream.calls().remove(0);
    // The last tick was on a Monday, whatever day it is now.
    let tick = client.get(NIGHTLY).await.unwrap().text("last_at");
    assert!(tick.ends_with("T00:30:00.000Z") || tick.ends_with("T01:30:00.000Z"), "{tick}");
    assert_eq!(call.headers["dripfeed-scheduled-for"], tick);
    assert_eq!(
        (call.method.as_str(), call.uri.path(), &call.headers["x-shop"]),
        ("PUT", "/feed/x", &"7".parse().unwrap())
    );
    assert_eq!(call.text(), r#"{"a":2.5,"b":1}"#);
    let shown = client.get(NIGHTLY).await.unwrap().json();
    assert_eq!(shown["last_job"], call.job);
    assert!(shown["missed_ticks"].as_u64().unwrap() > 40, "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intakes_that_are_killed_lose_and_double_no_tick() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let mut intakes: Vec<Process> = join_all((0..5).map(|_| service.intake())).await;
    let client = intakes[4].client();
    let names: Vec<String> = (0..100).map(|n| format!("s{n}")).collect();
    for name in &names {
        let body = json!({"every": "366d", "missed": "all", "job": {"body": name}});
        let put = put(&client, &format!("/v1/buckets/b/schedules/{name}"), &body).await;
        assert_eq!(put.status, 200, "{put:?}");
    }
    let (seconds, _): (u64, u64) = service.redis("TIME").await;
    let first = (seconds / LONG - 4) * LONG * 1000;
    for (number, name) in names.iter().enumerate() {
        move_to(&service, name, first).await;
        if number % 25 == 10 {
            intakes[number / 25].kill().await;
        }
    }
    let _processor = service.processor().await;
    until("each tick has its job", async || service.counts("b").await.accepted == 500).await;
    service.drained("b").await;
    let mut calls: BTreeMap<(String, String), u32> = BTreeMap::new();
    for call in upstream.calls() {
        let tick = call.headers["dripfeed-scheduled-for"].to_str().unwrap().to_owned();
        *calls.entry((call.text().to_owned(), tick)).or_default() += 1;
    }
    assert_eq!((calls.len(), calls.values().max()), (500, Some(&1)));
    assert_eq!(service.counts("b").await.accepted, 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_is_paused_resumed_run_and_deleted() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let intakes = [service.intake().await, service.intake().await];
    let [one, other] = [intakes[0].client(), intakes[1].client()];
    let body = json!({"every": "1h", "job": {"body": 1}});
    put(&one, NIGHTLY, &body).await;
    let next: u64 = service.redis(&format!("ZSCORE {NEXT} nightly")).await;

    let post = async |what: &str| other.post(&format!("{NIGHTLY}/{what}"), "").await.expect("an answer");
    let paused = post("pause").await;
    assert_eq!(
        (paused.status, paused.json()["paused"].as_bool(), &paused.json()["next_at"]),
        (200, Some(true), &Value::Null)
    );
    assert_eq!(service.redis::<Option<u64>>(&format!("ZSCORE {NEXT} nightly")).await, None);
    // A schedule that is defined again stays paused, unless the definition says otherwise.
    assert_eq!(put(&one, NIGHTLY, &body).await.json()["paused"], true);
    let run = post("run").await;
    assert_eq!(run.status, 202, "{run:?}");
    assert!(run.headers.contains_key("location"));
    assert_eq!(service.level("b").await, 1);
    let resumed = post("resume").await.json();
    assert_eq!((resumed["paused"].as_bool(), resumed["last_job"].as_str()), (Some(false), None));
    assert!(service.redis::<u64>(&format!("ZSCORE {NEXT} nightly")).await >= next);

    // A tick that is due isn't forgotten when the schedule is defined again.
    let _: u64 = service.redis(&format!("ZADD {NEXT} {} nightly", next - 1)).await;
    put(&one, NIGHTLY, &json!({"every": "1h", "job": {"body": 2}})).await;
    assert_eq!(service.redis::<u64>(&format!("ZSCORE {NEXT} nightly")).await, next - 1);
    put(&one, NIGHTLY, &json!({"every": "2h", "job": {"body": 2}})).await;
    assert_ne!(service.redis::<u64>(&format!("ZSCORE {NEXT} nightly")).await, next - 1);

    let delete = one.call(one.request(Method::DELETE, NIGHTLY), "").await.unwrap();
    assert_eq!((delete.status, one.get(NIGHTLY).await.unwrap().text("code").as_str()), (204, "unknown_schedule"));
    assert_eq!(post("run").await.status, 404);
    let trail = one.get("/v1/buckets/b/audit").await.unwrap().json();
    let done: Vec<&str> =
        trail["items"].as_array().unwrap().iter().filter_map(|entry| entry["detail"].as_str()).collect();
    for what in ["defined", "paused", "run", "resumed", "deleted"] {
        assert!(done.contains(&format!("nightly {what}").as_str()), "{what}: {done:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_not_be_a_schedule_is_refused_with_its_member() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let client = intake.client();
    let job = json!({"body": 1});
    for (definition, member) in [
        (json!({"cron": "61 * * * *", "job": job}), "cron"),
        (json!({"cron": "* * * * * *", "job": job}), "cron"),
        (json!({"cron": "0 3 * * *", "zone": "Europe/Nowhere", "job": job}), "zone"),
        (json!({"every": "1h", "zone": "UTC", "job": job}), "zone"),
        (json!({"every": "10ms", "job": job}), "every"),
        (json!({"every": "1h", "cron": "0 3 * * *", "job": job}), "every"),
        (json!({"job": job}), "cron"),
        (json!({"every": "1h", "grace": "soon", "job": job}), "grace"),
        (json!({"every": "1h", "missed": "none", "job": job}), "missed"),
        (json!({"every": "1h", "job": {}}), "job.body"),
        (json!({"every": "1h", "job": {"body": 1, "options": {"delay": "1s"}}}), "job.options"),
        (
            json!({"every": "1h", "job": {"body": 1, "options": {"idempotency_key": "k"}}}),
            "job.options.idempotency_key",
        ),
    ] {
        let answer = put(&client, NIGHTLY, &definition).await;
        assert_eq!((answer.status, answer.text("code").as_str()), (422, "bad_member"), "{definition}: {answer:?}");
        assert_eq!(answer.text("member"), member, "{definition}: {answer:?}");
    }
    let options = json!({"every": "1h", "job": {"body": 1, "options": {"path": "/../x"}}});
    assert_eq!(put(&client, NIGHTLY, &options).await.text("code"), "bad_option");
    assert_eq!(client.get(NIGHTLY).await.unwrap().status, 404, "nothing was stored");
    assert_eq!(service.redis::<u64>("EXISTS dripfeed:{b}:schedules").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ticks_without_room_are_missed_as_soon_as_the_next_ones_come() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 1\n").await;
    let intake = service.intake().await;
    let client = intake.client();
    assert_eq!(client.submit("b", "others").await.expect("an answer").status, 202);
    for (id, more) in [("latest", json!({})), ("skip", json!({"missed": "skip", "grace": "1s"}))] {
        let mut definition = json!({"every": "1s", "job": {"body": id}});
        definition.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        assert_eq!(put(&client, &format!("/v1/buckets/b/schedules/{id}"), &definition).await.status, 200, "{id}");
    }
    for id in ["latest", "skip"] {
        let path = format!("/v1/buckets/b/schedules/{id}");
        let shown = async || client.get(&path).await.expect("an answer").json();
        until("ticks are missed", async || shown().await["missed_ticks"].as_u64() >= Some(2)).await;
        let shown = shown().await;
        assert_eq!((&shown["refused"], &shown["last_at"]), (&json!("bucket_full"), &Value::Null), "{shown}");
    }
    let metrics = client.get("/metrics").await.expect("an answer").body;
    let metrics = String::from_utf8_lossy(&metrics);
    let line = "dripfeed_schedule_ticks_total{bucket=\"b\",outcome=\"missed\"} ";
    let counted = metrics.lines().find_map(|found| found.strip_prefix(line)?.parse::<u64>().ok());
    assert!(counted >= Some(4), "{counted:?}");
}

#[tokio::test]
async fn a_schedule_is_only_created_where_its_caller_wants_that() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:1/\"").await;
    let intake = service.intake().await;
    let client = intake.client();
    let create = async |path: &str, bytes: usize| {
        let request = client.request(Method::PUT, path).header("if-none-match", "*");
        let body = json!({"every": "1h", "job": {"body": "x".repeat(bytes)}});
        client.call(request, body.to_string()).await.expect("an answer")
    };
    assert_eq!(create(NIGHTLY, 1).await.status, 200);
    let second = create(NIGHTLY, 2).await;
    assert_eq!((second.status, second.text("code").as_str()), (412, "precondition_failed"), "{second:?}");
    assert_eq!(client.get(NIGHTLY).await.expect("an answer").json()["job"]["body"], "x");
    let misnamed = create("/v1/buckets/b/schedules/a%20b", 1).await;
    assert_eq!((misnamed.status, misnamed.text("member").as_str()), (422, "id"), "{misnamed:?}");
    assert_eq!(client.get("/v1/buckets/b/schedules/a%20b").await.expect("an answer").status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_are_bounded_by_number_and_bytes_and_listed_by_pages() {
    let buckets = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\nmost_schedules = 5\nschedules_bytes = \"2KiB\"";
    let service = Service::new(buckets).await;
    let intake = service.intake().await;
    let client = intake.client();
    let define = async |name: &str, bytes: usize| {
        let body = json!({"every": "1h", "job": {"body": "x".repeat(bytes)}});
        let answer = put(&client, &format!("/v1/buckets/b/schedules/{name}"), &body).await;
        (answer.status, answer.json()["code"].as_str().map(str::to_owned))
    };
    let full = (422, Some("many_schedules".to_owned()));
    for name in ["a", "b", "c", "d"] {
        assert_eq!(define(name, 10).await, (200, None));
    }
    assert_eq!(define("e", 2000).await, full, "too many bytes");
    assert_eq!(define("e", 10).await, (200, None));
    assert_eq!(define("f", 10).await, full, "too many");
    assert_eq!(define("a", 1000).await, (200, None), "one that is there already");
    assert_eq!(define("b", 1000).await, full);

    let list = async |query: &str| client.get(&format!("/v1/buckets/b/schedules{query}")).await.unwrap().json();
    let ids = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&list("").await), ["a", "b", "c", "d", "e"]);
    let first = list("?limit=2").await;
    let second = list(&format!("?limit=2&cursor={}", first["next"].as_str().unwrap())).await;
    assert_eq!((ids(&first), ids(&second)), (vec!["a".into(), "b".into()], vec!["c".into(), "d".into()]));
    let third = list(&format!("?limit=2&cursor={}", second["next"].as_str().unwrap())).await;
    assert_eq!((ids(&third), &third["next"]), (vec!["e".into()], &Value::Null));
    let path = "/v1/buckets/b/schedules/a";
    client.call(client.request(Method::DELETE, path), "").await.unwrap();
    assert_eq!(define("f", 1000).await, (200, None), "its bytes are free again");
}

/// As after a failover of the Cluster node that has the list of buckets with schedules, but not the bucket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_that_redis_forgot_to_list_submit_again() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let (mut intake, _processor) = (service.intake().await, service.processor().await);
    let defined = put(&intake.client(), NIGHTLY, &json!({"every": "366d", "job": {"body": "x"}})).await;
    assert_eq!(defined.status, 200, "{defined:?}");
    intake.kill().await;
    let _: u64 = service.redis("DEL dripfeed:{@installation}:schedules").await;
    let _: u64 = service.redis(&format!("ZADD {NEXT} 1767576600000 nightly")).await;
    let _intake = service.intake().await;
    upstream.has_got(1).await;
}
