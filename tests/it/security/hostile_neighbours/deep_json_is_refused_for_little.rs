//! JSON that nests as deep as a body has room for, wherever JSON is read: it is refused, nothing overflows.

use std::sync::LazyLock;

use bytes::Bytes;
use http::Method;

use super::attacks::{Attack, nothing};
use super::cost::{of_plain_batches, ticks_of};
use super::many_options_cost_no_more_than_their_bytes::TIMES;
use super::neighbours::are_answered_beside;
use super::street::{MAX_BODY, Street};

pub const ATTACK: Attack = Attack {
    name: "JSON that nests 500,000 deep",
    settings: "",
    prepare: nothing,
    strike: |street| Box::pin(strike(street)),
};

const DEPTH: usize = MAX_BODY / 2 - 64;

static DEEP: LazyLock<[Bytes; 4]> = LazyLock::new(|| {
    let nested = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let objects = format!("{}1{}", "{\"a\":".repeat(MAX_BODY / 7), "}".repeat(MAX_BODY / 7));
    let unclosed = "[".repeat(MAX_BODY);
    [format!("{{\"body\":{nested}}}"), format!("{{\"body\":1,\"options\":{nested}}}"), objects, unclosed]
        .map(Bytes::from)
});

/// Where JSON is read.
const PLACES: [(Method, &str); 4] = [
    (Method::POST, "/v1/buckets/shared/jobs/batch"),
    (Method::PATCH, "/v1/buckets/shared"),
    (Method::PUT, "/v1/services/hostile/rules"),
    (Method::POST, "/v1/services/hostile/check"),
];

async fn strike(street: &Street) {
    for (method, path) in PLACES {
        for json in DEEP.iter() {
            let request = street.hostile.request(method.clone(), path).header("content-type", "application/json");
            let answer = street.hostile.call(request, json.clone()).await.expect("an answer");
            assert!((400..500).contains(&answer.status), "{method} {path}: {answer:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deep_json_is_refused_for_little() {
    let street = Street::open("").await;
    let blows = PLACES.len() * DEEP.len();
    let plain = of_plain_batches(&street, blows, MAX_BODY).await;
    are_answered_beside(&street, strike(&street)).await;
    // Alone, as in many_options_cost_no_more_than_their_bytes.
    let ((), ticks) = ticks_of(&street.intake, strike(&street)).await;
    assert!(ticks <= TIMES * plain, "{ticks} ticks of the processor, where as many plain bytes take {plain}");
}
