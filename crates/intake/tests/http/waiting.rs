use std::time::Duration;

use crate::stage::{Stage, buried, delivered};

const JOBS: &str = "POST /v1/buckets/b/jobs";
const WAIT: (&str, &str) = ("prefer", "wait=10");

#[tokio::test]
async fn who_waits_gets_the_upstreams_answer() {
    let stage = Stage::set().await;
    let (answer, job) = tokio::join!(stage.ask(JOBS, &[WAIT], "x"), stage.settle(delivered(201, "text/csv", b"a,b")));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body, "a,b");
    let id = job.id.to_string();
    assert_eq!(answer.header("content-type"), Some("text/csv"));
    assert_eq!(answer.header("dripfeed-job-id"), Some(id.as_str()));
    assert_eq!(answer.header("dripfeed-upstream-status"), Some("201"));
    assert_eq!(answer.header("preference-applied"), Some("wait=10"));
    assert_eq!(answer.header("location"), Some(format!("/v1/buckets/b/jobs/{id}").as_str()));
    assert!(answer.header("ratelimit").is_some());
    // Whatever the upstream sent, it can't run in a page of this origin.
    assert!(answer.header("content-security-policy").unwrap().contains("sandbox"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

#[tokio::test]
async fn who_waits_in_vain_gets_a_receipt() {
    let stage = Stage::set().await;
    let answer = stage.ask(JOBS, &[("prefer", "wait=1")], "x").await;
    assert_eq!(answer.status, 202);
    assert_eq!(answer.header("preference-applied"), Some("wait=1"));
    assert_eq!(answer.json()["level"], 1);
    let (answer, _) = tokio::join!(stage.ask(JOBS, &[WAIT], "y"), async {
        stage.settle(delivered(200, "text/plain", b"")).await;
        stage.settle(buried("the upstream answered 404", 404)).await
    });
    assert_eq!(answer.status, 202, "a dead job has no answer to hand through");
}

#[tokio::test]
async fn a_stop_ends_the_waiting() {
    let stage = Stage::set().await;
    let begun = tokio::time::Instant::now();
    let answer = tokio::select! {
        answer = stage.ask(JOBS, &[("prefer", "wait=60")], "x") => answer,
        () = async {
            while stage.length("b").await == 0 {}
            stage.health.drain();
            std::future::pending::<()>().await;
        } => unreachable!(),
    };
    assert_eq!(answer.status, 202);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(begun.elapsed() < Duration::from_secs(10));
}
