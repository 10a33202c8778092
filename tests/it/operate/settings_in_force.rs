use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 10\nheaders = { X-Key = \"one\" }\n";

async fn metric(process: &Process, name: &str) -> String {
    let metrics = process.client().get("/metrics").await.expect("an answer");
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned)).expect("a sample")
}

async fn checksum(process: &Process) -> String {
    metric(process, "dripfeed_settings_checksum").await
}

async fn has_failed(process: &Process) -> bool {
    metric(process, "dripfeed_settings_reload_failed").await == "1"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_with_other_settings_of_buckets_is_seen_and_one_that_could_not_reload_them() {
    let service = Service::new(BUCKET).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let first = checksum(&intake).await;
    assert_eq!(first, checksum(&processor).await);
    assert!(!has_failed(&intake).await);

    let other = BUCKET.replace("capacity = 10", "capacity = 20");
    service.configure(&other);
    intake.hang_up();
    until("the intake has others", async || checksum(&intake).await != first).await;
    let second = checksum(&intake).await;
    assert_eq!(checksum(&processor).await, first, "it wasn't asked to");
    let third = service.processor().await;
    assert_eq!(checksum(&third).await, second, "of the same settings");

    service.configure(&other.replace("= 20", "= 0"));
    intake.hang_up();
    until("it is seen", async || has_failed(&intake).await).await;
    assert_eq!(checksum(&intake).await, second, "those before stay in force");

    service.configure(&BUCKET.replace("one", "two"));
    for role in [&intake, &processor, &third] {
        role.hang_up();
        until("a credential makes no difference", async || !has_failed(role).await && checksum(role).await == first)
            .await;
    }
}
