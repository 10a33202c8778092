//! Who waits as long as `Retry-After` says, and is alone, gets in, whatever there was no room for.

use std::time::Duration;

use dripfeed_tests::client::ClientResponse;
use dripfeed_tests::machine::stalls::Stalls;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::Upstream;

/// Submits until it is refused with this code, waits as long as that says, and submits again; this many times. What was
/// refused while the machine stood still takes another turn.
async fn turns_get_in(service: &Service, turns: u64, code: &str, submit: impl AsyncFn(u64) -> ClientResponse) {
    let stalls = Stalls::watch(service.store().clone());
    let (mut turn, mut number) = (0, 0);
    while turn < turns {
        stalls.were_there();
        let refused = loop {
            number += 1;
            let answer = submit(number).await;
            if answer.status != 202 {
                break answer;
            }
        };
        assert_eq!((refused.status, refused.text("code").as_str()), (429, code), "{refused:?}");
        let wait = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..60).contains(&wait), "{refused:?}");
        tokio::time::sleep(Duration::from_secs(wait)).await;
        number += 1;
        let again = submit(number).await;
        match again.status {
            202 => turn += 1,
            _ => assert!(stalls.were_there(), "turn {turn}, after {refused:?}: {again:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_bucket_that_is_full_of_bytes() {
    let upstream = Upstream::willing().await;
    for kind in ["stream", "list"] {
        let service = Service::new(&format!(
            "[buckets.b]\nupstream = \"{}\"\nkind = \"{kind}\"\ncapacity_bytes = \"1MiB\"\n\
             [buckets.b.leak]\nrate = \"4/s\"\n",
            upstream.url()
        ))
        .await;
        let (intake, _processor) = (service.intake().await, service.processor().await);
        let client = intake.client();
        let body = "m".repeat(200 << 10);
        let submit = async |_| client.submit("b", body.clone()).await.expect("an answer");
        turns_get_in(&service, 3, "bucket_full", submit).await;
    }
}

/// While the jobs of the keys wait for their calls, and once they have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_there_are_as_many_idempotency_keys_as_may_be() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!(
        "[buckets.b]\nupstream = \"{}\"\nkeep = {{ idempotency_keys = \"2s\", most_idempotency_keys = 3 }}\n\
         [buckets.b.leak]\nrate = \"1/s\"\n",
        upstream.url()
    ))
    .await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let client = intake.client();
    let submit = async |number| client.submit_once("b", &format!("order {number}"), "meat").await.expect("an answer");
    turns_get_in(&service, 3, "idempotency_keys_full", submit).await;
}
