//! Whether an intake wants requests.

use std::time::{Duration, Instant};

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::service::PATIENCE;

/// The answer that says so, or the opposite.
pub async fn until_ready(client: &Client, ready: bool) -> ClientResponse {
    let begun = Instant::now();
    loop {
        let answer = client.get("/readyz").await.expect("an answer");
        if (answer.status == 200) == ready {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "ready: {}", !ready);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
