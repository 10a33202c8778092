//! A service's rules registered a thousand times, and those of a thousand services: what is kept is bounded, and the
//! checks of others are judged by their rules.

use http::Method;

use super::attacks::{Attack, nothing};
use super::cost::memory_of_redis;
use super::neighbours::are_answered_beside;
use super::street::Street;

pub const ATTACK: Attack = Attack {
    name: "rules registered repeatedly",
    settings: "",
    prepare: nothing,
    strike: |street| Box::pin(put(street, "again", 1)),
};

const TIMES: usize = 1000;
/// What a thousand registrations of one service may leave behind.
const GROWTH: u64 = 4 << 20;

/// Rules of nearly the size that a service's may have, with another message each time.
fn rules(number: usize) -> String {
    let message = format!("{number} {}", "x".repeat(48 << 10));
    format!(r#"{{"policies":[{{"id":"a","tiers":[{{"kind":"gate","period":"1s"}}],"message":"{message}"}}]}}"#)
}

async fn put(street: &Street, service: &str, number: usize) {
    let path = format!("/v1/services/{service}/rules");
    let request = street.hostile.request(Method::PUT, &path).header("content-type", "application/json");
    let answer = street.hostile.call(request, rules(number)).await.expect("an answer");
    // All services together may have this many bytes of rules.
    assert!([200, 201, 204, 409, 422, 429, 507].contains(&answer.status), "{answer:?}");
}

async fn keys_of_services(street: &Street) -> usize {
    street.service.redis::<Vec<String>>("KEYS dripfeed:{@services}:*").await.len()
}

async fn register(street: &Street, rules: &str) {
    let request = street.neighbour.request(Method::PUT, "/v1/services/neighbour/rules");
    let answer = street.neighbour.call(request.header("content-type", "application/json"), rules.to_owned()).await;
    assert_eq!(answer.expect("an answer").status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_registered_again_and_again_grow_nothing() {
    let street = Street::open("").await;
    register(&street, r#"{"policies":[{"id":"once","tiers":[{"kind":"fixed","limit":1,"period":"1d"}]}]}"#).await;
    put(&street, "again", 0).await;
    let (held, before) = (memory_of_redis(&street).await, keys_of_services(&street).await);
    let attack = async {
        for number in 1..TIMES {
            put(&street, "again", number).await;
        }
    };
    are_answered_beside(&street, attack).await;
    let (now, after) = (memory_of_redis(&street).await, keys_of_services(&street).await);
    assert!(now <= held + GROWTH, "Redis holds {now} bytes, and had {held}");
    assert!(after <= before, "{after} keys, and {before} before");
    let check = async || {
        let request = street.neighbour.request(Method::POST, "/v1/services/neighbour/check");
        let question = r#"{"method":"GET","path":"/","headers":{},"caller":"x","cost":1}"#;
        street
            .neighbour
            .call(request.header("content-type", "application/json"), question)
            .await
            .expect("an answer")
            .status
    };
    assert_eq!((check().await, check().await), (200, 429));
}
