use dripfeed_tests::client::Client;
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::intakes::{move_to, put};

const SCHEDULE: &str = "/v1/buckets/b/schedules/s";

fn key(id: &str, scopes: &[&str]) -> String {
    let hash: String = Sha256::digest(id).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{hash}\"\nscopes = {scopes:?}\n")
}

fn settings(keys: &[String]) -> String {
    format!("{}[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n", keys.concat())
}

async fn post(client: &Client, what: &str) -> u16 {
    client.post(&format!("{SCHEDULE}/{what}"), "").await.expect("an answer").status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_belongs_to_the_key_that_defined_it_as_long_as_that_may_submit() {
    let shop = key("shop", &["submit", "operate", "read", "inspect"]);
    let others = [key("reader", &["read"]), key("operator", &["operate", "read"]), key("caller", &["submit"])];
    let desk = key("desk", &["submit", "operate", "read"]);
    let service = Service::new(&settings(&[&[shop, desk.clone()], &others[..]].concat())).await;
    let intake = service.intake().await;
    let client = |id: &str| intake.client().with_key(id);
    let body = json!({"every": "366d", "job": {"body": {"secret": 1}}});

    for id in ["reader", "operator", "caller"] {
        let refused = put(&client(id), SCHEDULE, &body).await;
        assert_eq!((refused.status, refused.text("code").as_str()), (403, "forbidden"), "{id}");
    }
    assert_eq!(put(&client("shop"), SCHEDULE, &body).await.json()["caller"], "shop");
    put(&client("desk"), "/v1/buckets/b/schedules/of_desk", &body).await;
    let shown = async |id: &str| client(id).get(SCHEDULE).await.unwrap().json();
    assert_eq!(shown("reader").await["job"], Value::Null, "bodies take the scope `inspect`");
    assert_eq!(shown("shop").await["job"], json!({"body": {"secret": 1}}));
    assert_eq!(client("caller").get(SCHEDULE).await.unwrap().status, 403);
    for what in ["pause", "resume", "run"] {
        assert_eq!(post(&client("reader"), what).await, 403, "{what}");
        assert_eq!(post(&client("caller"), what).await, 403, "{what}");
    }
    assert_eq!((post(&client("operator"), "pause").await, post(&client("operator"), "resume").await), (200, 200));
    assert_eq!(post(&client("operator"), "run").await, 403, "it submits a job");

    move_to(&service, "s", 1000).await;
    let jobs = async || client("desk").get("/v1/buckets/b/holders").await.unwrap().json()["items"].clone();
    until("shop has its job", async || jobs().await[0]["caller"] == "shop").await;

    // The key is revoked: nothing more is submitted for it, and the schedule shows why.
    service.configure(&settings(&[&[desk], &others[..]].concat()));
    intake.hang_up();
    until("the key is gone", async || client("shop").get(SCHEDULE).await.unwrap().status == 401).await;
    move_to(&service, "s", 2000).await;
    move_to(&service, "of_desk", 1000).await;
    until("another caller's schedule goes on", async || jobs().await.as_array().unwrap().len() == 2).await;
    assert_eq!(service.level("b").await, 2);
    let revoked = shown("reader").await;
    assert_eq!((revoked["caller_may_submit"].as_bool(), revoked["caller"].as_str()), (Some(false), Some("shop")));
    assert_eq!(post(&client("desk"), "run").await, 403);
    // The key that defines the schedule again is its new owner.
    assert_eq!(put(&client("desk"), SCHEDULE, &body).await.json()["caller"], "desk");
    until("it goes on", async || service.level("b").await == 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedules_jobs_have_no_higher_priority_than_its_key_may_ask_for() {
    let shop = |priority: &str| {
        key("shop", &["submit", "operate", "read", "inspect"]) + &format!("priority = \"{priority}\"\n")
    };
    let service = Service::new(&settings(&[shop("normal")])).await;
    let intake = service.intake().await;
    let client = intake.client().with_key("shop");
    let body = json!({"every": "366d", "job": {"body": 1, "options": {"priority": "high"}}});
    let refused = put(&client, SCHEDULE, &body).await;
    assert_eq!((refused.status, refused.text("code").as_str()), (403, "forbidden"));

    let reload = async |priority: &str| {
        service.configure(&settings(&[shop(priority)]));
        intake.hang_up();
        let is_read = async || client.get("/v1/key").await.unwrap().json()["priority"] == priority;
        until("the key has its priority", is_read).await;
    };
    reload("high").await;
    assert_eq!(put(&client, SCHEDULE, &body).await.status, 200);
    assert_eq!(post(&client, "run").await, 202);
    reload("low").await;
    assert_eq!(post(&client, "run").await, 202);
    let jobs = client.get("/v1/buckets/b/jobs").await.unwrap().json();
    let priorities: Vec<&Value> = jobs["items"].as_array().unwrap().iter().map(|job| &job["priority"]).collect();
    assert_eq!(priorities, ["high", "low"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_is_drained_has_no_schedules_any_more() {
    let upstream = Upstream::willing().await;
    let bucket = |name: &str| format!("[buckets.{name}]\nupstream = \"{}\"\n", upstream.url());
    let service = Service::new(&bucket("b")).await;
    let body = json!({"every": "366d", "job": {"body": 1}});
    let mut intake = service.intake().await;
    let count = async || service.redis::<u64>("HLEN dripfeed:{b}:schedules").await;

    for options in [&["drain", "b"][..], &["drain", "b", "--into", "other"]] {
        let client = intake.client();
        assert_eq!(put(&client, SCHEDULE, &body).await.status, 200);
        assert_eq!(client.submit("b", "x").await.unwrap().status, 202);
        intake.kill().await;
        service.configure(&bucket("other"));
        intake = service.intake().await;
        let elsewhere = intake.client().get(SCHEDULE).await.unwrap();
        assert_eq!(elsewhere.text("code"), "unknown_bucket");
        until("that is reported", async || intake.log().contains("its schedules submit nothing here")).await;
        intake.kill().await;
        assert_eq!(count().await, 1, "they wait for somebody to decide");

        let is_moved = options.len() > 2;
        service.configure(&if is_moved { bucket("other") } else { bucket("b") });
        service.silence("b stream ").await;
        let (code, said) = service.run(options).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("the schedules of the bucket were ended"), "{said}");
        assert_eq!(count().await, 0);
        assert_eq!(service.redis::<u64>("EXISTS dripfeed:{b}:schedules:next dripfeed:{b}:schedules:state").await, 0);
        service.configure(&bucket("b"));
        intake = service.intake().await;
        let list = intake.client().get("/v1/buckets/b/schedules").await.unwrap().json();
        assert_eq!(list["items"], json!([]));
    }
    let delete = intake.client().request(Method::DELETE, SCHEDULE);
    assert_eq!(intake.client().call(delete, "").await.unwrap().status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_that_is_refused_or_stopped_keeps_the_schedules() {
    let bucket =
        |name: &str, settings: &str| format!("[buckets.{name}]\nupstream = \"http://127.0.0.1:1/\"\n{settings}");
    let old = bucket("b", "key = \"x:jobs\"\n");
    let service = Service::new(&old).await;
    let mut intake = service.intake().await;
    let client = intake.client();
    assert_eq!(put(&client, SCHEDULE, &json!({"every": "366d", "job": {"body": 1}})).await.status, 200);
    assert_eq!(client.submit("b", "x").await.unwrap().status, 202);
    assert_eq!(client.post("/v1/buckets/b/pause", "").await.unwrap().status, 200);
    intake.kill().await;
    service.silence("b stream x:jobs").await;
    let count = async || service.redis::<u64>("HLEN dripfeed:{b}:schedules").await;

    let (code, said) = service.run(&["drain", "b"]).await;
    assert!(code == Some(75) && said.contains("is paused; use --resume"), "{said}");
    assert_eq!(count().await, 1, "the drain was refused");
    service.configure(&bucket("other", "key = \"x:jobs\"\n"));
    let (code, said) = service.run(&["drain", "b", "--into", "other"]).await;
    assert!(code == Some(78) && said.contains("its key is in use"), "{said}");
    assert_eq!(count().await, 1, "the move was refused");

    service.configure(&old);
    let mut command = service.command(&[]);
    command.args(["drain", "b", "--resume"]);
    let mut drain = Process::spawn("drain", command);
    until("it works", async || service.redis::<u64>("HLEN dripfeed:{b}:replicas").await == 1).await;
    drain.terminate();
    assert_eq!(drain.ended().await.code(), Some(1), "the bucket isn't empty");
    assert_eq!((service.redis::<u64>("XLEN x:jobs").await, count().await), (1, 1), "the drain was stopped");
}
