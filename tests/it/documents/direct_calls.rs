//! Calls go to the upstream itself, as the README's limits say.

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::Upstream;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_of_the_environment_are_not_used() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\n", upstream.url())).await;
    let intake = service.intake().await;
    let mut processor = service.command(&[]);
    processor.arg("processor");
    // Where nothing listens: who asks a proxy reaches no upstream.
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        processor.env(name, "http://127.0.0.1:9");
    }
    let _processor = Process::start("processor", processor).await;
    assert_eq!(intake.client().submit("b", "meat".to_owned()).await.expect("an answer").status, 202);
    upstream.has_got(1).await;
}
