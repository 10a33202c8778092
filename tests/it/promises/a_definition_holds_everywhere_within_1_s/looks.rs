//! Every process looks for changes at least once a second, and then applies them. Together this is the promise of
//! one second.

use dripfeed_tests::redis_fault_proxy::RedisFaultProxy;

use super::*;

/// The script with which a process looks for changes.
const LOOK: &str = "changed_definitions";

struct Looking {
    proxy: RedisFaultProxy,
    process: Process,
}

impl Looking {
    async fn start(service: &Service, role: &str) -> Self {
        let proxy = RedisFaultProxy::before(&service.redis).await;
        let process = service.role(role, &[&format!("redis.url={}", proxy.url())]).await;
        Self { proxy, process }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_process_looks_every_second_and_a_change_holds_from_then_on() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let intake = service.intake().await;
    let one = intake.client();
    let (other, processor) = tokio::join!(Looking::start(&service, "intake"), Looking::start(&service, "processor"));
    put(&one, "b", &calling(&upstream)).await;
    let (intake_looks, processor_looks) =
        tokio::join!(other.proxy.is_called_every_second(LOOK), processor.proxy.is_called_every_second(LOOK));
    assert!(intake_looks, "an intake looks less than once a second");
    assert!(processor_looks, "a processor looks less than once a second");

    let capacity = async || get(&other.process.client(), "/v1/buckets/b").await.number("capacity");
    for changed in 7..10 {
        let mut definition = calling(&upstream);
        definition["capacity"] = json!(changed);
        assert_eq!(put(&one, "b", &definition).await.status, 200);
        other.proxy.answered(LOOK).await;
        assert_eq!(capacity().await, changed);
    }
    assert_eq!(delete(&one, "b").await.status, 204);
    tokio::join!(other.proxy.answered(LOOK), processor.proxy.answered(LOOK));
    assert_eq!(get(&other.process.client(), "/v1/buckets").await.json()["items"], json!([]));
    // The processor logs this after a further call of Redis.
    until("the processor has left it", async || processor.process.log().contains("this replica has left the bucket"))
        .await;
}
