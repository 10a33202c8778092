//! The logs of traced jobs: they name the trace, and nothing that callers or operators keep to themselves.

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use http::Method;
use serde_json::Value;

use super::receiver::Receiver;
use super::{CALLER, TRACE, settings};

const BODY: &str = "4111 1111 1111 1111";
const TOKEN: &str = "token-of-the-receiver";

/// The line of this message, if it came, with the trace and the job as fields.
fn names_both(role: &Process, message: &str, format: &str, job: &str) -> bool {
    let fields = |line: &str| match format {
        "json" => {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            line["trace_id"] == TRACE && line["job"] == job
        }
        _ => [format!(" trace_id={TRACE}"), format!(" job={job}")].iter().all(|field| line.contains(field)),
    };
    role.log().lines().filter(|line| line.contains(message)).any(fields)
}

async fn logs_name_the_trace(format: &str) {
    let receiver = Receiver::start().await;
    let upstream =
        Upstream::start(|call| async move { Answer::Status(if call.attempt == 1 { 500 } else { 200 }) }).await;
    let service = Service::new(&settings(&upstream, receiver.url(), 0.0)).await;
    let log = [&format!("log.format={format}"), "log.level=trace"];
    let (intake, processor) = (service.role("intake", &log).await, service.role("processor", &log).await);
    let client = intake.client();
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("traceparent", traceparent);
    let job = client.call(request, BODY).await.expect("an answer").text("id");
    upstream.has_got(2).await;
    service.drained("b").await;
    for (role, message) in [
        (&intake, "job accepted"),
        (&processor, "attempt failed; the job is parked until the next one"),
        (&processor, "job delivered"),
    ] {
        until(message, async || names_both(role, message, format, &job)).await;
    }
    for role in [&intake, &processor] {
        assert!(!role.log().contains(BODY), "the body is in the log: {}", role.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_in_json_name_the_trace_of_submission_and_attempts_and_never_a_body() {
    logs_name_the_trace("json").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_for_people_name_the_trace_of_submission_and_attempts_and_never_a_body() {
    logs_name_the_trace("human").await;
}

/// Where they are accepted, and where the receiver refuses them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_for_the_receiver_reach_it_and_are_in_no_log() {
    let receiver = Receiver::start().await;
    let upstream = Upstream::willing().await;
    for endpoint in [receiver.url().to_owned(), format!("{}/unknown", receiver.url())] {
        let service = Service::new(&settings(&upstream, &endpoint, 1.0)).await;
        let start = async |role: &str| {
            let mut command = service.command(&["log.level=trace"]);
            command.env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization=Bearer%20{TOKEN},x-tenant=shop"));
            command.arg(role);
            Process::start(role, command).await
        };
        let (mut intake, mut processor) = (start("intake").await, start("processor").await);
        assert_eq!(intake.client().submit("b", "x").await.expect("an answer").status, 202);
        service.drained("b").await;
        for role in [&mut intake, &mut processor] {
            role.terminate();
            assert!(role.ended().await.success());
            if endpoint != receiver.url() {
                until("it is logged", async || role.log().contains("could not export spans")).await;
            }
            assert!(!role.log().contains(TOKEN), "the header is in the log: {}", role.log());
        }
    }
    let requests = receiver.headers();
    assert!(requests.len() >= 2, "of both roles: {requests:?}");
    for headers in requests {
        assert_eq!(headers["authorization"], format!("Bearer {TOKEN}"));
        assert_eq!(headers["x-tenant"], "shop");
    }
}
