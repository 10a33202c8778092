use dripfeed_tests::processes::memory_kib;
use dripfeed_tests::service::{Service, until};

#[tokio::test]
async fn the_code_of_the_start_leaves_memory_and_the_roles_go_on() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n").await;
    let (intake, processor) = (service.role("intake", &[]).await, service.role("processor", &[]).await);
    for role in [&intake, &processor] {
        let at_first = memory_kib(role.id(), "RssFile");
        until("code has left memory", async || memory_kib(role.id(), "RssFile") < at_first).await;
    }
    assert_eq!(intake.client().submit("b", "x").await.unwrap().status, 202);
    until("it was called, in vain", async || service.counts("b").await.parked == 1).await;
}
