//! The Rust client, as a caller uses it.

use std::time::{Duration, Instant};

use dripfeed_client::{
    BucketName, Client, ClientError, Ending, ItemResult, JobState, NewJob, OptionName, PushAnswer, Retries,
};
use dripfeed_tests::proxy::{Behind, Proxy};
use dripfeed_tests::service::{PATIENCE, Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use serde_json::json;
use tokio::net::TcpListener;

const ENDED: JobState = JobState::Ended(Ending::Delivered);

fn bucket() -> BucketName {
    "b".parse().expect("a name")
}

async fn service(upstream: &str, settings: &str) -> Service {
    Service::new(&format!("[buckets.b]\nupstream = \"{upstream}\"\n{settings}")).await
}

fn client(url: impl Into<String>) -> Client {
    Client::builder(url).retries(Retries::within(PATIENCE)).build().expect("a client")
}

async fn state(client: &Client, id: dripfeed_client::JobId) -> JobState {
    client.wait(&bucket(), id, PATIENCE).await.expect("a job").state
}

#[tokio::test]
async fn a_pushed_job_is_waited_for() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream.url(), "").await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let client = client(intake.url());
    let job = NewJob::json(&json!({"tiger": 1})).expect("JSON").path("/cage").header("X-Zoo", "north");
    let receipt = client.push(&bucket(), &job).await.expect("a receipt");
    assert_eq!((&receipt.bucket, receipt.level, receipt.more.len()), (&bucket(), 1, 0), "{receipt:?}");
    assert_eq!(state(&client, receipt.id).await, ENDED);
    let call = &upstream.calls()[0];
    assert_eq!(
        (call.text(), call.uri.path(), &call.headers["x-zoo"]),
        (r#"{"tiger":1}"#, "/feed/cage", &"north".parse().unwrap())
    );
    let answer = client.push_and_wait(&bucket(), &NewJob::new("a"), Duration::from_secs(60)).await.expect("an answer");
    assert!(matches!(&answer, PushAnswer::Delivered(answer) if answer.status == Some(200)), "{answer:?}");
}

#[tokio::test]
async fn a_wait_of_less_than_a_second_takes_no_whole_one() {
    let service = service("http://127.0.0.1:1/", "").await;
    let intake = service.intake().await;
    let client = client(intake.url());
    let receipt = client.push(&bucket(), &NewJob::new("a")).await.expect("a receipt");
    let waited = async || {
        let begun = Instant::now();
        let job = client.wait(&bucket(), receipt.id, Duration::from_millis(100)).await.expect("a job");
        assert_eq!(job.state, JobState::Waiting, "{job:?}");
        begun.elapsed()
    };
    // A machine that stands still may make any of them longer.
    until("one takes less", async || waited().await < Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_full_bucket_is_waited_for_as_long_as_it_says() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream.url(), "capacity = 1").await;
    let intake = service.intake().await;
    let client = client(intake.url());
    client.push(&bucket(), &NewJob::new("first")).await.expect("a receipt");
    let refused = client.with_retries(Retries::NONE).push(&bucket(), &NewJob::new("second")).await;
    let refused = refused.expect_err("the bucket is full");
    assert_eq!(refused.problem().map(|problem| problem.code.as_str()), Some("bucket_full"));
    assert!(refused.is_retryable() && refused.retry_after().is_some(), "{refused:?}");

    let job = NewJob::new("second");
    let (pushed, _processor) = tokio::join!(async { client.push(&bucket(), &job).await }, service.processor());
    assert_eq!(state(&client, pushed.expect("a receipt").id).await, ENDED);
    assert_eq!(upstream.calls().iter().map(|call| call.text()).collect::<Vec<_>>(), ["first", "second"]);
}

#[tokio::test]
async fn a_job_whose_answer_was_lost_is_stored_once() {
    let service = service("http://127.0.0.1:1/", "").await;
    let intake = service.intake().await;
    let address = intake.address().borrow().expect("an address");
    let proxy = Proxy::before(Behind::Tcp(address)).await;
    let client = client(format!("http://{}", proxy.address));
    client.get("/v1/buckets").await.expect("a connection");
    proxy.links()[0].cut_to_client_after(0);
    let receipt = client.push(&bucket(), &NewJob::new("once")).await.expect("a receipt");
    assert_eq!((receipt.level, service.counts("b").await.accepted), (1, 1));

    // The wait of the intake is beside the time for retries.
    let hasty = client.with_retries(Retries::within(Duration::from_secs(3)));
    let waited = hasty.push_and_wait(&bucket(), &NewJob::new("slow"), Duration::from_secs(4)).await;
    assert!(matches!(&waited, Ok(PushAnswer::Accepted(receipt)) if receipt.level == 2), "{waited:?}");

    // A client without retries makes no key, and says that it doesn't know.
    let client = Client::builder(format!("http://{}", proxy.address)).retries(Retries::NONE).build().expect("a client");
    client.get("/v1/buckets").await.expect("a connection");
    proxy.links().last().expect("a connection").cut_to_client_after(0);
    let lost = client.push(&bucket(), &NewJob::new("twice")).await.expect_err("no answer");
    assert!(lost.is_retryable() && lost.problem().is_none(), "{lost:?}");
    assert_eq!(service.counts("b").await.accepted, 3);
}

#[tokio::test]
async fn an_intake_that_never_answers_is_given_up_at_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let client = client(format!("http://{}", silent.local_addr().expect("a bound port")));
    let client = client.with_retries(Retries::within(Duration::from_millis(300)));
    let error = client.push(&bucket(), &NewJob::new("a")).await.expect_err("no answer");
    assert!(matches!(error, ClientError::Silent(_)) && error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn a_batch_that_the_bucket_has_no_room_for_arrives_whole_and_in_order() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream.url(), "capacity = 5").await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let client = client(intake.url());
    let mut bodies: Vec<Vec<u8>> = (0..100).map(|number: u32| number.to_string().into_bytes()).collect();
    bodies[8] = vec![0xff, 0xfe];
    let mut jobs: Vec<NewJob> =
        bodies.iter().map(|body| NewJob::new(body.clone()).content_type("application/json")).collect();
    jobs[7] = jobs[7].clone().option(OptionName::Delay, "soon");
    let sent = client.push_all(&bucket(), &jobs).await.expect("options that can be sent");
    assert!(sent.error.is_none(), "{:?}", sent.error);
    assert!(
        matches!(&sent.items[7], ItemResult::Refused(problem) if problem.code == "bad_option"),
        "{:?}",
        sent.items[7]
    );
    let ids: Vec<_> = sent.accepted().map(|id| id.to_string()).collect();
    service.drained("b").await;

    bodies.remove(7);
    let calls = upstream.calls();
    assert_eq!((ids.len(), calls.len()), (99, 99));
    for (id, body) in ids.iter().zip(&bodies) {
        let call = calls.iter().find(|call| call.job == *id).expect("a call of each job");
        assert_eq!(&call.body[..], &body[..], "{id}");
    }
}

#[tokio::test]
async fn jobs_are_cancelled_and_dead_letters_replayed() {
    let upstream =
        Upstream::start(|call| async move { Answer::Status(if call.text() == "ok" { 200 } else { 404 }) }).await;
    let service = service(&upstream.url(), "").await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let client = client(intake.url());

    let parked = client.push(&bucket(), &NewJob::new("ok").delay(Duration::from_secs(3600))).await.expect("a receipt");
    client.cancel(&bucket(), parked.id).await.expect("it is parked");
    client.cancel(&bucket(), parked.id).await.expect("it is cancelled already");
    assert_eq!(state(&client, parked.id).await, JobState::Ended(Ending::Cancelled));

    let dead = client.push(&bucket(), &NewJob::new("wrong")).await.expect("a receipt");
    assert_eq!(state(&client, dead.id).await, JobState::Ended(Ending::Dead));
    let letters = client.dead_letters(&bucket(), 10).await.expect("a list");
    assert_eq!((letters.len(), letters[0].id, letters[0].outcome.status), (1, dead.id, Some(404)));
    let replayed = client.replay(&bucket(), dead.id).await.expect("a receipt");
    assert_eq!(state(&client, replayed.id).await, JobState::Ended(Ending::Dead));
    let unknown = client.replay(&bucket(), dead.id).await.expect_err("it is a job again");
    assert_eq!(unknown.problem().map(|problem| problem.code.as_str()), Some("unknown_job"));
    let ended = client.cancel(&bucket(), dead.id).await.expect_err("it has ended");
    assert!(!ended.is_retryable(), "{ended:?}");
}
