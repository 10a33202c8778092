//! A server that stays a replica refuses each write: that is reported when it begins, and when it is over.

use dripfeed_tests::service::{Service, until};
use redis::InfoDict;

/// What the log has from the connections to Redis.
fn reported(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("dripfeed_store::connection")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_are_refused_again_and_again_are_reported_once() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n").await;
    let intake = service.intake().await;
    let client = intake.client();
    let submit = async || client.submit("b", "x").await.expect("an answer").status;
    let connections = async || {
        let statistics: InfoDict = service.redis("INFO stats").await;
        statistics.get::<u64>("total_connections_received").expect("a number")
    };
    assert_eq!(submit().await, 202);
    service.redis::<()>("REPLICAOF 127.0.0.1 1").await;
    let before = connections().await;
    until("the intake has connected again several times", async || {
        assert_eq!(submit().await, 503);
        connections().await >= before + 4
    })
    .await;
    let log = intake.log();
    let lines = reported(&log);
    assert!(lines.len() == 1 && lines[0].contains("Redis refuses writes"), "{lines:#?}");

    service.redis::<()>("REPLICAOF NO ONE").await;
    until("jobs are accepted", async || submit().await == 202).await;
    until("the log says that it is over", async || intake.log().contains("Redis takes writes again")).await;
    assert_eq!(reported(&intake.log()).len(), 2, "{}", intake.log());
}
