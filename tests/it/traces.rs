//! Traces as a receiver of OTLP sees them, of real processes. `make trace-test`.

mod collector;
mod logs;
mod receiver;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Call, Upstream};
use http::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use self::collector::Collector;
use self::receiver::{Received, Receiver};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A bucket, and traces that go to `receiver`.
fn settings(upstream: &Upstream, receiver: &str, sampling: f64) -> String {
    let upstream = upstream.url();
    format!(
        "[trace]\nendpoint = \"{receiver}\"\nsampling = {sampling}\n\
         [buckets.b]\nupstream = \"{upstream}\"\nretry = {{ first = \"1ms\", max = \"1ms\", attempts = 3 }}\n"
    )
}

/// A submission of a caller that has a trace, sampled or not.
async fn submit(client: &Client, flags: &str) -> ClientResponse {
    let traceparent = format!("00-{TRACE}-{CALLER}-{flags}");
    let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("traceparent", traceparent);
    let answer = client.call(request, "x").await.expect("an answer");
    assert_eq!(answer.status, 202, "{answer:?}");
    answer
}

fn named(spans: &[Received], name: &str) -> Vec<Received> {
    let mut named: Vec<_> = spans.iter().filter(|span| span.name == name).cloned().collect();
    named.sort_by_key(|span| span.ended);
    named
}

/// Trace and span that the upstream got.
fn context(call: &Call) -> (String, String) {
    let traceparent = call.headers["traceparent"].to_str().expect("text").to_owned();
    let parts: Vec<_> = traceparent.split('-').collect();
    assert_eq!((parts[0], parts[3]), ("00", "01"), "{traceparent}");
    (parts[1].to_owned(), parts[2].to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_shows_submission_wait_attempts_and_upstream_over_a_retry() {
    let receiver = Receiver::start().await;
    let upstream =
        Upstream::start(|call| async move { Answer::Status(if call.attempt == 1 { 500 } else { 200 }) }).await;
    let service = Service::new(&settings(&upstream, receiver.url(), 0.0)).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let job = submit(&intake.client(), "01").await.text("id");
    upstream.has_got(2).await;

    let spans = receiver.has_got(7).await;
    assert!(spans.iter().all(|span| span.trace == TRACE && span.began <= span.ended), "{spans:#?}");
    let [submitted] = &named(&spans, "submit")[..] else { panic!("{spans:#?}") };
    assert_eq!((submitted.service.as_str(), submitted.parent.as_str()), ("dripfeed-intake", CALLER));
    assert_eq!(
        (&submitted.attributes["dripfeed.job.id"], &submitted.attributes["dripfeed.bucket"]),
        (&job, &"b".into())
    );

    let (waits, attempts, settled) = (named(&spans, "wait"), named(&spans, "attempt"), named(&spans, "settle"));
    assert_eq!((waits.len(), attempts.len(), settled.len()), (2, 2, 2), "{spans:#?}");
    let expected = [("1", "500", "retry", true), ("2", "200", "delivered", false)];
    for (at, (number, status, became, failed)) in expected.into_iter().enumerate() {
        let (wait, attempt, settle) = (&waits[at], &attempts[at], &settled[at]);
        assert_eq!((&wait.parent, &attempt.parent, &settle.parent), (&submitted.id, &submitted.id, &attempt.id));
        for span in [attempt, settle] {
            assert_eq!(span.links, [(TRACE.to_owned(), submitted.id.clone())], "linked to the submission: {span:#?}");
            assert_eq!((span.service.as_str(), &span.attributes["dripfeed.job.id"]), ("dripfeed-processor", &job));
        }
        assert_eq!(attempt.attributes["dripfeed.attempt"], number);
        assert_eq!(attempt.attributes["http.response.status_code"], status);
        assert_eq!((attempt.error.is_some(), settle.attributes["dripfeed.settlement"].as_str()), (failed, became));
        assert_eq!(context(&upstream.calls()[at]), (TRACE.to_owned(), attempt.id.clone()));
    }
    // By the clock of Redis, in whole ms.
    assert!(waits[1].began + 1_000_000 >= attempts[0].ended, "it waits since it was due again: {spans:#?}");
    let replica = intake.client().get(&format!("/v1/buckets/b/jobs/{job}")).await.expect("an answer").json();
    let replica = &replica["failed_attempts"][0]["replica"];
    for span in attempts.iter().chain(&settled) {
        assert_eq!(span.attributes["dripfeed.replica"].as_str(), replica.as_str().expect("its name"));
        assert_eq!(span.instance, attempts[0].instance, "of one process");
    }
    assert_ne!(submitted.instance, attempts[0].instance);
    exemplars_name_the_trace(&intake, "dripfeed_admit_duration_seconds_bucket").await;
    exemplars_name_the_trace(&processor, "dripfeed_attempt_duration_seconds_bucket").await;
}

async fn exemplars_name_the_trace(role: &Process, of: &str) {
    let client = role.client();
    let scrape = client.request(Method::GET, "/metrics").header("accept", "application/openmetrics-text");
    let page = client.call(scrape, "").await.expect("an answer");
    let page = String::from_utf8_lossy(&page.body);
    let exemplar = format!("# {{trace_id=\"{TRACE}\"}}");
    assert!(page.lines().any(|line| line.starts_with(of) && line.contains(&exemplar)), "{page}");
    let text = client.get("/metrics").await.expect("an answer");
    assert!(!String::from_utf8_lossy(&text.body).contains(TRACE), "the older form has no exemplars");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_goes_on_with_the_replica_that_takes_over() {
    let receiver = Receiver::start().await;
    let victim_lives = Arc::new(AtomicBool::new(true));
    let lives = Arc::clone(&victim_lives);
    let upstream = Upstream::start(move |_| {
        let lives = Arc::clone(&lives);
        async move {
            if lives.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            Answer::Status(200)
        }
    })
    .await;
    let service = Service::new(&settings(&upstream, receiver.url(), 0.0)).await;
    let (intake, mut victim) = (service.intake().await, service.processor().await);
    submit(&intake.client(), "01").await;
    upstream.has_got(1).await;
    victim_lives.store(false, Ordering::SeqCst);
    victim.kill().await;
    let _heir = service.processor().await;
    upstream.has_got(2).await;
    service.drained("b").await;
    until("it is exported", async || named(&receiver.spans(), "settle").len() == 1).await;

    let spans = receiver.spans();
    let (submitted, attempts) = (named(&spans, "submit"), named(&spans, "attempt"));
    let [attempt] = &attempts[..] else { panic!("the dead replica exported nothing: {spans:#?}") };
    let [died, made] = &upstream.calls()[..] else { panic!("two calls") };
    assert_eq!((context(died).0, context(made)), (TRACE.to_owned(), (TRACE.to_owned(), attempt.id.clone())));
    assert_ne!(context(died).1, attempt.id, "each attempt is its own span");
    assert_eq!((&attempt.parent, &attempt.trace), (&submitted[0].id, &submitted[0].trace));
    assert_eq!(named(&spans, "settle")[0].attributes["dripfeed.settlement"], "delivered");
}

/// The first call fails, and its replica dies in the second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_shows_the_trace_over_a_retry_and_a_replicas_death() {
    let receiver = Receiver::start().await;
    let collector = Collector::start(receiver.url()).await;
    let calls = Arc::<AtomicUsize>::default();
    let upstream = Upstream::start(move |_| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            match call {
                0 => Answer::Status(500),
                1 => std::future::pending().await,
                _ => Answer::Status(200),
            }
        }
    })
    .await;
    let service = Service::new(&settings(&upstream, collector.url(), 0.0)).await;
    let (intake, mut victim) = (service.intake().await, service.processor().await);
    let job = submit(&intake.client(), "01").await.text("id");
    upstream.has_got(2).await;
    // Else what it has not exported yet dies with it.
    until("the first attempt is exported", async || named(&receiver.spans(), "settle").len() == 1).await;
    victim.kill().await;
    let _heir = service.processor().await;
    until("the last one is, too", async || named(&receiver.spans(), "settle").len() == 2).await;

    let spans = receiver.spans();
    assert!(spans.iter().all(|span| span.trace == TRACE && span.began <= span.ended), "{spans:#?}");
    let [submitted] = &named(&spans, "submit")[..] else { panic!("{spans:#?}") };
    assert_eq!((submitted.service.as_str(), submitted.parent.as_str()), ("dripfeed-intake", CALLER));
    let (waits, attempts, settled) = (named(&spans, "wait"), named(&spans, "attempt"), named(&spans, "settle"));
    assert_eq!(attempts.len(), 2, "the dead replica's attempt is missing: {spans:#?}");
    // The wait before that one may have been exported: it had ended.
    let [first, .., last] = &waits[..] else { panic!("{spans:#?}") };
    let waits = [first, last];
    let calls = upstream.calls();
    for (at, (call, became)) in [(&calls[0], "retry"), (&calls[2], "delivered")].into_iter().enumerate() {
        let (wait, attempt, settle) = (waits[at], &attempts[at], &settled[at]);
        assert_eq!((&wait.parent, &attempt.parent, &settle.parent), (&submitted.id, &submitted.id, &attempt.id));
        for span in [attempt, settle] {
            assert_eq!(span.links, [(TRACE.to_owned(), submitted.id.clone())], "linked to the submission: {span:#?}");
            assert_eq!((span.service.as_str(), &span.attributes["dripfeed.job.id"]), ("dripfeed-processor", &job));
        }
        assert_eq!(settle.attributes["dripfeed.settlement"], became);
        assert_eq!(context(call), (TRACE.to_owned(), attempt.id.clone()), "what the upstream got");
    }
    let (trace, attempt) = context(&calls[1]);
    assert!(trace == TRACE && attempts.iter().all(|other| other.id != attempt), "each attempt is its own span");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsampled_trace_is_not_exported_and_adds_no_field_to_the_entry() {
    let receiver = Receiver::start().await;
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream, receiver.url(), 0.0)).await;
    let intake = service.intake().await;
    let client = intake.client();
    submit(&client, "00").await;
    assert_eq!(client.submit("b", "x").await.expect("an answer").status, 202);
    let entries: Vec<(String, Vec<String>)> = service.redis("XRANGE dripfeed:{b}:jobs - +").await;
    let traced: Vec<bool> = entries.iter().map(|(_, fields)| fields.iter().any(|f| f == "traceparent")).collect();
    assert_eq!(traced, [true, false]);
    let processor = service.processor().await;
    upstream.has_got(2).await;
    service.drained("b").await;
    let callers: Vec<_> = upstream.calls().iter().map(|call| call.headers.get("traceparent").cloned()).collect();
    let unchanged = format!("00-{TRACE}-{CALLER}-00").parse().expect("a header");
    assert!(callers.contains(&Some(unchanged)) && callers.contains(&None), "{callers:?}");
    // What a process has not exported yet it exports at its end.
    for mut role in [intake, processor] {
        role.terminate();
        assert!(role.ended().await.success());
    }
    assert!(receiver.spans().is_empty(), "{:#?}", receiver.spans());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_ends_without_an_attempt_has_the_span_of_its_submission_only() {
    let receiver = Receiver::start().await;
    let service = Service::new(&settings(&Upstream::willing().await, receiver.url(), 0.0)).await;
    let mut intake = service.intake().await;
    let client = intake.client();
    let job = submit(&client, "01").await.text("id");
    let cancel = client.request(Method::DELETE, &format!("/v1/buckets/b/jobs/{job}"));
    let cancelled = client.call(cancel, "").await.expect("an answer");
    assert_eq!(cancelled.status, 204, "{cancelled:?}");
    intake.terminate();
    assert!(intake.ended().await.success());
    let spans = receiver.spans();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["submit"], "{spans:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_one_submission_and_the_last_spans_are_exported_at_the_end() {
    let receiver = Receiver::start().await;
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream, receiver.url(), 1.0)).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let client = intake.client();
    let batch = client.request(Method::POST, "/v1/buckets/b/jobs/batch").header("content-type", "application/json");
    let answer = client.call(batch, r#"[{"body":1},{"body":2},{"body":3}]"#).await.expect("an answer");
    assert_eq!(answer.status, 202, "{answer:?}");
    service.drained("b").await;
    for mut role in [intake, processor] {
        role.terminate();
        assert!(role.ended().await.success());
    }
    let spans = receiver.spans();
    let [submitted] = &named(&spans, "submit")[..] else { panic!("{spans:#?}") };
    assert_eq!((submitted.parent.as_str(), submitted.attributes["dripfeed.admitted"].as_str()), ("", "3"));
    let attempts = named(&spans, "attempt");
    assert_eq!((attempts.len(), named(&spans, "settle").len()), (3, 3), "{spans:#?}");
    assert!(attempts.iter().all(|attempt| attempt.parent == submitted.id && attempt.trace == submitted.trace));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_go_on_where_nobody_receives_their_spans() {
    let upstream = Upstream::willing().await;
    // Nothing listens there.
    let service = Service::new(&settings(&upstream, "http://127.0.0.1:9", 1.0)).await;
    let (intake, mut processor) = (service.intake().await, service.processor().await);
    for _ in 0..20 {
        assert_eq!(intake.client().submit("b", "x").await.expect("an answer").status, 202);
    }
    service.drained("b").await;
    let says = "could not export spans";
    until("it is logged", async || intake.log().contains(says) && processor.log().contains(says)).await;
    processor.terminate();
    assert!(processor.ended().await.success());
    assert_eq!(processor.log().matches(says).count(), 1, "{}", processor.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_does_not_wait_for_a_receiver_that_never_answers() {
    let upstream = Upstream::willing().await;
    // Connections to it are made, and nobody reads from them.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let service = Service::new(&settings(&upstream, &url, 1.0)).await;
    let (mut intake, mut processor) = (service.intake().await, service.processor().await);
    assert_eq!(intake.client().submit("b", "x").await.expect("an answer").status, 202);
    service.drained("b").await;
    for role in [&mut intake, &mut processor] {
        role.terminate();
        assert!(role.ended().await.success());
        assert!(role.log().contains("could not export the last spans"), "{}", role.log());
    }
}

/// Spans that lines of this message report.
fn reported(role: &Process, message: &str) -> (usize, u64) {
    let lines = role.log().lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect::<Vec<_>>();
    let of_message: Vec<&Value> = lines.iter().filter(|line| line["message"] == message).collect();
    (of_message.len(), of_message.iter().filter_map(|line| line["spans"].as_u64()).sum())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_fails_now_and_then_is_one_line_and_no_lost_span_is_left_out() {
    let receiver = Receiver::that_refuses(|request| request % 2 == 0).await;
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream, receiver.url(), 1.0)).await;
    let intake = service.role("intake", &["trace.endpoint=\"\""]).await;
    let mut processor = service.processor().await;
    let client = intake.client();
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let batch = client.request(Method::POST, "/v1/buckets/b/jobs/batch").header("traceparent", traceparent);
    let items: Vec<Value> = (0..1000).map(|item| json!({ "body": item })).collect();
    let answer = client.call(batch.header("content-type", "application/json"), json!(items).to_string()).await;
    assert_eq!(answer.expect("an answer").status, 202);
    service.drained("b").await;
    processor.terminate();
    assert!(processor.ended().await.success());

    assert!(receiver.headers().len() > 4, "several requests of each kind");
    let (lines, at_once) = reported(&processor, "could not export spans; jobs aren't affected");
    let (_, dropped) = reported(&processor, "spans dropped: more were recorded than exported");
    let (ends, rest) = reported(&processor, "more spans were lost since the last line about them");
    assert_eq!((lines, ends), (1, 1), "{}", processor.log());
    assert_eq!(at_once + rest, u64::try_from(receiver.refused()).expect("few") + dropped, "{}", processor.log());
}
