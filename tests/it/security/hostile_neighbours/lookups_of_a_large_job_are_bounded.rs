//! One waiting job of 1 MiB, looked up on many connections at once: no lookup makes Redis send the body, and neighbours
//! are answered beside all of them.

use futures::future::{BoxFuture, join_all};
use http::Method;

use super::attacks::Attack;
use super::cost::OfRedis;
use super::neighbours::are_answered_beside;
use super::street::{MAX_BODY, Street};

pub const ATTACK: Attack = Attack {
    name: "lookups of one 1 MiB job",
    settings: SETTINGS,
    prepare: |street| prepare(street),
    strike: |street| Box::pin(look_up(street)),
};

const SETTINGS: &str = "[buckets.large]\nupstream = \"{upstream}\"\n";
const AT_ONCE: usize = 64;
/// What Redis may send for one of them.
const ANSWER: u64 = 1024;

fn prepare(street: &Street) -> BoxFuture<'_, ()> {
    Box::pin(async {
        let delayed = street.hostile.request(Method::POST, "/v1/buckets/large/jobs").header("dripfeed-delay", "1h");
        let delayed = delayed.header("idempotency-key", "large");
        let answer = street.hostile.call(delayed, "x".repeat(MAX_BODY)).await.expect("an answer");
        assert_eq!(answer.status, 202, "{answer:?}");
    })
}

async fn look_up(street: &Street) {
    let path = "/v1/buckets/large/jobs?idempotency_key=large";
    for answer in join_all((0..AT_ONCE).map(|_| street.hostile.get(path))).await {
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["items"].as_array().expect("items").len(), 1, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookups_of_a_large_job_are_bounded() {
    let street = Street::open(SETTINGS).await;
    prepare(&street).await;
    // Alone, as the answers to others count too.
    let ((), cost) = OfRedis::meanwhile(&street, look_up(&street)).await;
    let most = ANSWER * AT_ONCE as u64 + (MAX_BODY / 2) as u64;
    assert!(cost.sent <= most, "Redis sent {} bytes", cost.sent);
    are_answered_beside(&street, look_up(&street)).await;
}
