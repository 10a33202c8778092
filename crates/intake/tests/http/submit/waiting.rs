use std::time::Duration;

use dripfeed_bucket::Settlement;
use dripfeed_job::outcome::AnswerBody;

use crate::harness::{Harness, buried, delivered};

const JOBS: &str = "POST /v1/buckets/b/jobs";
const WAIT: (&str, &str) = ("prefer", "wait=10");

#[tokio::test]
async fn a_waiting_caller_gets_the_upstreams_response() {
    let harness = Harness::start().await;
    let (answer, job) =
        tokio::join!(harness.ask(JOBS, &[WAIT], "x"), harness.settle(delivered(201, "text/csv", b"a,b")));
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
async fn a_waiting_caller_learns_that_the_response_is_of_an_earlier_submission() {
    let harness = Harness::start().await;
    let fields = [WAIT, ("idempotency-key", "order-17")];
    let (first, _) =
        tokio::join!(harness.ask(JOBS, &fields, "x"), harness.settle(delivered(200, "text/plain", b"done")));
    assert_eq!((&first.body[..], first.header("idempotent-replayed")), (&b"done"[..], None));
    let again = harness.ask(JOBS, &fields, "x").await;
    assert_eq!((again.status.as_u16(), &again.body[..]), (200, &b"done"[..]));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn a_waiting_caller_learns_that_the_response_is_cut() {
    let harness = Harness::start().await;
    for (truncated, shown) in [(true, Some("true")), (false, None)] {
        let answer = AnswerBody::new(Some("text/plain".to_owned()), b"abc", truncated);
        let settled = Settlement::Complete { status: 200, answer: Some(answer) };
        let (answer, _) = tokio::join!(harness.ask(JOBS, &[WAIT], "x"), harness.settle(settled));
        assert_eq!((&answer.body[..], answer.header("dripfeed-truncated")), (&b"abc"[..], shown));
    }
}

#[tokio::test]
async fn a_waiting_caller_learns_how_the_response_is_compressed() {
    let harness = Harness::start().await;
    let compressed = AnswerBody::new(None, b"\x1f\x8b", false).encoded(Some("gzip"));
    let settled = Settlement::Complete { status: 200, answer: Some(compressed) };
    let (answer, job) = tokio::join!(harness.ask(JOBS, &[WAIT], "x"), harness.settle(settled));
    assert_eq!((answer.status.as_u16(), answer.header("content-encoding")), (200, Some("gzip")));
    let job = harness.get(&format!("/v1/buckets/b/jobs/{}", job.id)).await.json();
    assert_eq!(job["outcome"]["content_encoding"], "gzip");
}

#[tokio::test]
async fn a_wait_that_times_out_returns_a_receipt() {
    let harness = Harness::start().await;
    let answer = harness.ask(JOBS, &[("prefer", "wait=1")], "x").await;
    assert_eq!(answer.status, 202);
    assert_eq!(answer.header("preference-applied"), Some("wait=1"));
    assert_eq!(answer.json()["level"], 1);
    let (answer, _) = tokio::join!(harness.ask(JOBS, &[WAIT], "y"), async {
        harness.settle(delivered(200, "text/plain", b"")).await;
        harness.settle(buried("the upstream answered 404", 404)).await
    });
    assert_eq!(answer.status, 202, "a dead job has no answer to hand through");
}

#[tokio::test]
async fn a_caller_over_the_wait_limit_gets_a_receipt_at_once() {
    let harness = Harness::start().await;
    let waiting = futures::future::join(harness.ask(JOBS, &[WAIT], "1"), harness.ask(JOBS, &[WAIT], "2"));
    let (_, third) = tokio::join!(
        async {
            let (one, two) = waiting.await;
            assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200));
        },
        async {
            while harness.registered("b").await < 2 {}
            let third = harness.ask(JOBS, &[WAIT], "3").await;
            for _ in 0..3 {
                harness.settle(delivered(200, "text/plain", b"x")).await;
            }
            third
        }
    );
    assert_eq!((third.status.as_u16(), third.header("preference-applied")), (202, None));
    let (answer, _) = tokio::join!(harness.ask(JOBS, &[WAIT], "4"), harness.settle(delivered(201, "text/plain", b"y")));
    assert_eq!(answer.status, 200, "there is room again");
}

#[tokio::test]
async fn the_end_of_a_job_is_waited_for_also_later() {
    let harness = Harness::start().await;
    let id = harness.ask(JOBS, &[], "x").await.json()["id"].as_str().unwrap().to_owned();
    let job = format!("GET /v1/buckets/b/jobs/{id}");
    let (answer, _) =
        tokio::join!(harness.ask(&job, &[WAIT], ""), harness.settle(buried("the upstream answered 404", 404)));
    assert_eq!((answer.status.as_u16(), &answer.json()["state"]), (200, &"dead".into()), "{answer:?}");
    // Unless it had ended before.
    let applied = answer.header("preference-applied");
    assert!(matches!(applied, None | Some("wait=10")), "{applied:?}");

    let id = harness.ask(JOBS, &[], "y").await.json()["id"].as_str().unwrap().to_owned();
    let job = format!("GET /v1/buckets/b/jobs/{id}");
    let answer = harness.ask(&job, &[("prefer", "wait=1")], "").await;
    assert_eq!((answer.header("preference-applied"), &answer.json()["state"]), (Some("wait=1"), &"waiting".into()));
    let answer = harness.ask("GET /v1/buckets/b/jobs/1-0", &[WAIT], "").await;
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn a_wait_for_a_job_of_a_bucket_that_is_removed_ends_with_it() {
    let harness = Harness::start().await;
    let begun = tokio::time::Instant::now();
    let wait = [("prefer", "wait=60")];
    let job = format!("GET /v1/buckets/b/jobs/{}", harness.submit("x").await);
    let removed = async {
        while harness.registered("b").await < 2 {}
        harness.buckets.change(&[], &["b".parse().unwrap()]);
    };
    let (read, submitted, ()) = tokio::join!(harness.ask(&job, &wait, ""), harness.ask(JOBS, &wait, "y"), removed);
    read.refuses(404, "unknown_bucket");
    // It was accepted.
    assert_eq!((submitted.status.as_u16(), submitted.header("preference-applied")), (202, Some("wait=60")));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn a_stop_ends_waits() {
    let harness = Harness::start().await;
    let begun = tokio::time::Instant::now();
    let answer = tokio::select! {
        answer = harness.ask(JOBS, &[("prefer", "wait=60")], "x") => answer,
        () = async {
            while harness.length("b").await == 0 {}
            harness.health.drain();
            std::future::pending::<()>().await;
        } => unreachable!(),
    };
    assert_eq!(answer.status, 202);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(begun.elapsed() < Duration::from_secs(50));
}
