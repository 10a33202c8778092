//! A loop of scrapes: the buckets are counted once a second, no matter who asks and how often.

use std::time::Instant;

use super::attacks::{Attack, nothing};
use super::cost::OfRedis;
use super::street::Street;

pub const ATTACK: Attack =
    Attack { name: "a loop of scrapes", settings: "", prepare: nothing, strike: |street| Box::pin(scrape(street)) };

async fn scrape(street: &Street) {
    let answer = street.hostile.get("/metrics").await.expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
}

const SCRAPES: usize = 500;
/// Commands for counting the buckets once, and for all that goes on in a second without callers.
const A_SECOND: u64 = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrapes_ask_redis_no_more() {
    let street = Street::open("").await;
    let begun = Instant::now();
    let attack = async {
        for _ in 0..SCRAPES {
            scrape(&street).await;
        }
    };
    let ((), cost) = OfRedis::meanwhile(&street, attack).await;
    let most = A_SECOND * (begun.elapsed().as_secs() + 2);
    assert!(cost.commands <= most, "{cost:?} for {SCRAPES} scrapes within {:?}", begun.elapsed());
    let refused = street.intake.client().get("/metrics").await.expect("an answer");
    assert_eq!(refused.status, 401, "where there are keys, nobody scrapes without one");
}
