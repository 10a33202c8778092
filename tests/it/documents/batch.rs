//! The README's batch, as written.

use dripfeed_tests::service::Service;
use dripfeed_tests::sources::from_the_root;
use dripfeed_tests::upstream::Upstream;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_readmes_batch_is_accepted_with_its_options() {
    let readme = std::fs::read_to_string(from_the_root("README.md")).expect("the README");
    let is_call = |line: &&str| line.starts_with("    curl ") && line.contains("/jobs/batch ");
    let begins = readme.lines().position(|line| is_call(&line)).expect("a batch");
    let call: Vec<&str> = readme.lines().skip(begins).take_while(|line| line.starts_with("    ")).collect();
    let upstream = Upstream::willing().await;
    let bucket = format!("[buckets.partner]\nupstream = \"{}\"\n", upstream.url());
    let service = Service::new(&bucket).await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let call = call.join("\n").replace("http://127.0.0.1:7180", &intake.url()) + " --fail --silent --show-error";
    let ended = Command::new("bash").args(["-c", &call]).output().await.expect("bash");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("\"accepted\":2"), "{ended:?}");
    upstream.has_got(1).await;
    assert_eq!(upstream.calls()[0].body.as_ref(), [0, 1, 2], "the other one is delayed");
    let named =
        intake.client().get("/v1/buckets/partner/jobs?idempotency_key=order-17").await.expect("an answer").json();
    assert_eq!(named["items"][0]["state"], "parked", "{named}");
}
