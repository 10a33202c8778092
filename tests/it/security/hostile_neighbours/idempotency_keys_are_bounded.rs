//! Another idempotency key with each job: they are bounded in number, none is forgotten early, and others go on.

use std::sync::atomic::{AtomicU64, Ordering};

use super::attacks::{Attack, nothing};
use super::cost::keys;
use super::neighbours::are_answered_beside;
use super::street::Street;

pub const ATTACK: Attack = Attack {
    name: "another idempotency key with each job",
    settings: SETTINGS,
    prepare: nothing,
    strike: |street| Box::pin(strike(street)),
};

const MOST: u64 = 200;
const SETTINGS: &str = "[buckets.keyed]\nupstream = \"{upstream}\"\nkeep.most_idempotency_keys = 200\n";

static NEXT: AtomicU64 = AtomicU64::new(0);

async fn strike(street: &Street) {
    let key = format!("another-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let answer = street.hostile.submit_once("keyed", &key, "x").await.expect("an answer");
    assert!([202, 429].contains(&answer.status), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idempotency_keys_are_bounded() {
    let street = Street::open(SETTINGS).await;
    let before = keys(&street).await;
    let attack = async {
        let mut accepted = 0;
        for n in 0..3 * MOST {
            let answer = street.hostile.submit_once("keyed", &format!("k{n}"), "x").await.expect("an answer");
            match answer.status {
                202 => accepted += 1,
                429 => assert!(answer.headers.contains_key("retry-after"), "{answer:?}"),
                _ => panic!("{answer:?}"),
            }
        }
        accepted
    };
    let accepted = are_answered_beside(&street, attack).await;
    assert_eq!(accepted, MOST);
    // A key that is there still names its job; a caller without one gets in.
    let again = street.hostile.submit_once("keyed", "k0", "x").await.expect("an answer");
    assert_eq!(again.status, 202, "{again:?}");
    let unkeyed = street.neighbour.submit("keyed", "x").await.expect("an answer");
    assert_eq!(unkeyed.status, 202, "{unkeyed:?}");
    // Beside the keys of the buckets and of the batches that were just answered.
    let more = keys(&street).await - before;
    assert!(more <= MOST + 100 + 3 * MOST, "{more} keys in Redis");
}
