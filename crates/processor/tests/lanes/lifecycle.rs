use std::time::Duration;

use dripfeed_job::{Ending, Retry, Submission};
use dripfeed_store::ChannelEvent;
use http::StatusCode;
use tokio::time::timeout;

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::{Feed, PATIENCE};

#[tokio::test]
async fn a_job_reaches_its_upstream_as_it_was_sent_and_its_answer_is_recorded() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let mut submission = Submission {
        content_type: Some("text/plain".to_owned()),
        method: Some(http::Method::PUT),
        path: Some(dripfeed_job::path::UpstreamPath::parse("/cage/7?all").unwrap()),
        ..job("meat")
    };
    submission.headers.push("X-Tiger", "Shere Khan").unwrap();
    let id = admitted(&bucket, submission).await;

    let call = feed.call().await;
    assert_eq!((call.method.as_str(), call.path.as_str(), call.body.as_str()), ("PUT", "/feed/cage/7?all", "meat"));
    assert_eq!((call.header("content-type"), call.header("x-tiger")), ("text/plain", "Shere Khan"));
    assert_eq!((call.header("dripfeed-bucket"), call.header("dripfeed-attempt")), ("feed", "1"));
    assert_eq!(call.header("dripfeed-job-id"), id.to_string());
    assert_eq!(call.header("idempotency-key"), format!("feed/{id}"));
    call.answer((StatusCode::CREATED, "eaten"));

    let ended = outcome(&bucket, id).await.outcome;
    assert_eq!((ended.result, ended.status, ended.attempts), (Ending::Delivered, Some(201), 1));
    assert_eq!(ended.answer.unwrap().body, "eaten");
    for line in [
        r#"dripfeed_jobs_settled_total{bucket="feed",outcome="delivered"} 1"#,
        r#"dripfeed_attempts_total{bucket="feed",class="2xx"} 1"#,
        r#"dripfeed_job_total_seconds_count{bucket="feed"} 1"#,
    ] {
        assert!(work.metrics().contains(line), "{line}\n{}", work.metrics());
    }
    work.ended().await;
}

#[tokio::test]
async fn a_failed_attempt_is_made_again_and_the_last_buries_the_job() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let id = admitted(&bucket, job("meat")).await;
    for attempt in ["1", "2", "3"] {
        let call = feed.call().await;
        assert_eq!(call.header("dripfeed-attempt"), attempt);
        call.answer((StatusCode::BAD_GATEWAY, "no"));
    }
    let ended = outcome(&bucket, id).await.outcome;
    assert_eq!((ended.result, ended.status, ended.attempts), (Ending::Dead, Some(502), 3));
    assert_eq!(ended.reason.unwrap(), "the upstream answered 502; that was the last of 3 attempts");
    assert_eq!(bucket.dead_letter(id).await.unwrap().unwrap().body, "meat");
    work.ended().await;
}

#[tokio::test]
async fn being_throttled_costs_no_attempt_and_holds_the_whole_bucket() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let first = admitted(&bucket, job("first")).await;
    feed.call().await.answer((StatusCode::TOO_MANY_REQUESTS, [("Retry-After", "1")]));
    while bucket.census().await.unwrap().pace.throttled_for.is_none() {
        tokio::task::yield_now().await;
    }
    let held = tokio::time::Instant::now();
    let second = admitted(&bucket, job("second")).await;
    for call in feed.calls(2).await {
        assert!(held.elapsed() > Duration::from_millis(700), "called while throttled");
        assert_eq!(call.header("dripfeed-attempt"), "1");
        call.ok();
    }
    for id in [first, second] {
        assert_eq!(outcome(&bucket, id).await.outcome.attempts, 1);
    }
    work.ended().await;
}

#[tokio::test]
async fn what_can_not_get_better_is_dead_at_once() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    for answer in [StatusCode::NOT_FOUND, StatusCode::FOUND] {
        let id = admitted(&bucket, job("meat")).await;
        feed.call().await.answer(answer);
        let ended = outcome(&bucket, id).await.outcome;
        assert_eq!((ended.result, ended.status, ended.attempts), (Ending::Dead, Some(answer.as_u16()), 1));
    }
    work.ended().await;
}

#[tokio::test]
async fn entries_added_by_hand_are_jobs_and_those_that_are_none_are_buried() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let no_job = harness.add_by_hand("feed", "colour", "orange").await;
    let plain = harness.add_by_hand("feed", "body", "meat").await;
    let recipe = harness.add_by_hand("feed", "request_details", "fish").await;
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let mut bodies = Vec::new();
    for call in feed.calls(2).await {
        bodies.push(call.body.clone());
        call.ok();
    }
    bodies.sort();
    assert_eq!(bodies, ["fish", "meat"]);
    for id in [plain, recipe] {
        assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    }
    let ended = outcome(&bucket, no_job).await.outcome;
    assert_eq!((ended.result, ended.attempts), (Ending::Dead, 0));
    assert!(ended.reason.unwrap().contains("neither a `body`"));
    work.ended().await;
}

#[tokio::test]
async fn a_job_past_its_deadline_is_not_called_and_counts_as_expired() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let short = Submission { expires_in: Some(Duration::from_millis(1)), ..job("short") };
    let id = admitted(&bucket, short).await;
    tokio::time::sleep(Duration::from_millis(2)).await;
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Expired);
    assert!(feed.has_no_call());
    let expired = r#"dripfeed_jobs_settled_total{bucket="feed",outcome="expired"} 1"#;
    while !work.metrics().contains(expired) {
        tokio::task::yield_now().await;
    }
    work.ended().await;
}

#[tokio::test]
async fn a_lane_that_is_stuck_stops_no_other() {
    let (harness, mut stuck, mut free) = (Harness::start().await, Feed::open().await, Feed::open().await);
    let mut narrow = settings("stuck");
    narrow.leak.concurrency = 1;
    let (one, other) = (harness.bucket(narrow), harness.bucket(settings("free")));
    let work = Work::begin(vec![(one.clone(), stuck.upstream()), (other.clone(), free.upstream())]);
    let waiting = [admitted(&one, job("a")).await, admitted(&one, job("b")).await];
    let held = stuck.call().await;
    for _ in 0..5 {
        let id = admitted(&other, job("c")).await;
        free.call().await.ok();
        assert_eq!(outcome(&other, id).await.outcome.result, Ending::Delivered);
    }
    assert!(stuck.has_no_call(), "the one slot is taken");
    held.ok();
    stuck.call().await.ok();
    for id in waiting {
        assert_eq!(outcome(&one, id).await.outcome.result, Ending::Delivered);
    }
    work.ended().await;
}

#[tokio::test]
async fn a_retry_that_is_due_while_no_slot_is_free_is_announced_to_others() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let mut settings = settings("feed");
    settings.leak.concurrency = 1;
    settings.retry = Retry { attempts: 1000, first: Duration::from_millis(500), max: Duration::from_millis(500) };
    let bucket = harness.bucket(settings);
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    for body in ["fails", "lasts"] {
        admitted(&bucket, job(body)).await;
    }
    let first = feed.call().await;
    let mut messages = harness.store.subscribe("dripfeed:{feed}:notices");
    let mut call = first;
    // What is due goes first: so it isn't, once the other one has the slot.
    while call.body == "fails" {
        call.answer(StatusCode::INTERNAL_SERVER_ERROR);
        call = feed.call().await;
    }
    let is_announced = async {
        while !matches!(messages.next().await, Some(ChannelEvent::Message(message)) if message[..] == *b"jobs") {}
    };
    timeout(PATIENCE, is_announced).await.expect("the retry is announced when it is due");
    call.ok();
    feed.call().await.ok();
    work.ended().await;
}

/// Such a call isn't counted as an attempt, so the same job would be called at once, without an end.
#[tokio::test]
async fn an_upstream_that_refuses_and_asks_for_no_wait_is_called_after_the_usual_one() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let mut patient = settings("feed");
    patient.leak.default_hold = Duration::from_hours(1);
    let bucket = harness.bucket(patient);
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    admitted(&bucket, job("meat")).await;
    feed.call().await.answer((StatusCode::TOO_MANY_REQUESTS, [("Retry-After", "0")]));
    let throttled = async { while bucket.census().await.unwrap().pace.throttled_for.is_none() {} };
    timeout(PATIENCE, throttled).await.expect("the bucket is throttled");
    work.ended().await;
}
