use std::process::Command;
use std::time::Duration;

use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};

/// `redis-cli` as a user types it after `redis-cli`, its answer line by line.
fn redis_cli(service: &Service, words: &[&str]) -> Vec<String> {
    let url = service.redis.server.url();
    let socket = url.strip_prefix("unix://").and_then(|rest| rest.split('?').next()).expect("a unix socket");
    let output = Command::new("redis-cli").args(["-s", socket]).args(words).output().expect("redis-cli");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_in_every_state_is_seen_with_redis_cli() {
    let upstream = Upstream::start(|call| async move {
        if call.text() == "in flight" {
            std::future::pending::<()>().await;
        }
        Answer::Status(if call.text() == "dead" { 404 } else { 503 })
    })
    .await;
    let service = Service::new(&format!(
        "[buckets.tigerfeeding]\nupstream = \"{}\"\nleak = {{ concurrency = 1 }}\n\
         retry = {{ first = \"1h\", max = \"1h\" }}",
        upstream.url()
    ))
    .await;
    let intake = service.intake().await;
    let _processor = service.processor().await;
    let submit = async |body: &'static str| {
        let answer = intake.client().submit("tigerfeeding", body).await.unwrap();
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.text("id")
    };
    let jobs = "dripfeed:{tigerfeeding}:jobs";

    let dead = submit("dead").await;
    until("the job is dead", async || service.counts("tigerfeeding").await.dead == 1).await;
    let parked = submit("parked").await;
    until("the job is parked", async || service.counts("tigerfeeding").await.parked == 1).await;
    let in_flight = submit("in flight").await;
    upstream.has_got(3).await;
    let waiting = submit("waiting").await;

    assert_eq!(redis_cli(&service, &["XLEN", jobs]), ["3"]);
    let pending = redis_cli(&service, &["XPENDING", jobs, "processors"]);
    assert_eq!(pending[..3], ["2", parked.as_str(), in_flight.as_str()]);
    let owners = redis_cli(&service, &["XPENDING", jobs, "processors", "-", "+", "10"]);
    assert_eq!(owners[0], parked);
    assert_eq!(owners[1], "@parked");
    assert_eq!(owners[4], in_flight);
    assert_ne!(owners[5], "@parked");
    assert!(
        redis_cli(&service, &["XPENDING", jobs, "processors", "IDLE", "60000", "-", "+", "10"]).concat().is_empty()
    );

    let entry = redis_cli(&service, &["XRANGE", jobs, &waiting, &waiting]);
    assert_eq!(entry[..3], [waiting.as_str(), "body", "waiting"]);
    let letter = redis_cli(&service, &["XRANGE", "dripfeed:{tigerfeeding}:dead", "-", "+"]);
    assert!(letter.contains(&dead) && letter.iter().any(|line| line.contains("404")), "{letter:?}");
    let outcome = redis_cli(&service, &["HGET", "dripfeed:{tigerfeeding}:outcomes", &dead]);
    assert!(outcome[0].contains(r#""result":"dead""#), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_xadd_is_a_job() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    // Also before anybody else has touched the bucket.
    let first = redis_cli(&service, &["XADD", "dripfeed:{b}:jobs", "*", "body", r#"{"n":1}"#]);
    let _processor = service.processor().await;
    upstream.has_got(1).await;
    let second = redis_cli(&service, &["XADD", "dripfeed:{b}:jobs", "*", "request_details", "n=2"]);
    upstream.has_got(2).await;
    let calls = upstream.calls();
    assert_eq!([&calls[0].job, &calls[1].job], [&first[0], &second[0]]);
    assert_eq!([calls[0].text(), calls[1].text()], [r#"{"n":1}"#, "n=2"]);
    service.drained("b").await;
    assert_eq!(service.counts("b").await.delivered, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_whose_stream_has_another_name_is_found_under_it() {
    let upstream = Upstream::willing().await;
    let key = "x:rl:zewtopia.com/tigerfeeding";
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\nkey = \"{key}\"", upstream.url())).await;
    let intake = service.intake().await;
    let answer = intake.client().submit("b", "meat").await.unwrap();
    assert_eq!(answer.status, 202);
    assert_eq!(redis_cli(&service, &["XLEN", key]), ["1"]);
    let _processor = service.processor().await;
    upstream.has_got(1).await;
    until("the job has left", async || redis_cli(&service, &["XLEN", key]) == ["0"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_deleted_under_a_running_service_is_created_again() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    for (number, words) in [["DEL", "dripfeed:{b}:jobs"].as_slice(), &["FLUSHALL"]].into_iter().enumerate() {
        redis_cli(&service, words);
        assert_eq!(intake.client().submit("b", "meat").await.unwrap().status, 202);
        upstream.has_got(number + 1).await;
    }
    // No hot loop: what was wrong is reported once.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(processor.log().lines().count() < 30, "{}", processor.log());
}
