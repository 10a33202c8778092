//! 70,000 options in an item: nothing is compared with all that came before it.

use std::sync::LazyLock;

use bytes::Bytes;
use futures::future::join_all;

use super::attacks::{Attack, nothing};
use super::cost::{of_plain_batches, ticks_of};
use super::neighbours::are_answered_beside;
use super::street::{MAX_BODY, SHARED, Street};

pub const ATTACK: Attack = Attack {
    name: "70,000 options in an item of a batch",
    settings: "",
    prepare: nothing,
    strike: |street| Box::pin(strike(street, &OPTIONS)),
};

/// As many as a body has room for.
const MANY: usize = 70_000;
static OPTIONS: LazyLock<Bytes> = LazyLock::new(|| item(&members(MANY)));

/// This many members of an object, each with another name.
pub fn members(many: usize) -> String {
    (0..many).map(|n| format!("\"o{n:x}\":\"{}\"", n % 10)).collect::<Vec<_>>().join(",")
}

pub fn item(options: &str) -> Bytes {
    let batch = format!("{{\"body\":1,\"options\":{{{options}}}}}");
    assert!(batch.len() <= MAX_BODY, "{}", batch.len());
    batch.into()
}

/// The longest refusal.
const REFUSAL: usize = 64 << 10;

pub async fn strike(street: &Street, batch: &Bytes) {
    let path = format!("/v1/buckets/{SHARED}/jobs/batch");
    let answer = street.hostile.post(&path, batch.clone()).await.expect("an answer");
    assert!([207, 400, 422].contains(&answer.status), "{answer:?}");
    assert!(answer.body.len() < REFUSAL, "the refusal is {} bytes long", answer.body.len());
}

/// What an attack by the bytes of batches may cost, in what as many plain bytes cost.
pub const TIMES: u64 = 8;
const BLOWS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_options_cost_no_more_than_their_bytes() {
    costs_no_more_than_its_bytes(&OPTIONS).await;
}

pub async fn costs_no_more_than_its_bytes(batch: &Bytes) {
    let street = Street::open("").await;
    let plain = of_plain_batches(&street, BLOWS, batch.len()).await;
    let attack = async || drop(join_all((0..BLOWS).map(|_| strike(&street, batch))).await);
    are_answered_beside(&street, attack()).await;
    // Alone: how much neighbours take depends on how long an attack lasts, and so on what else the machine does.
    let ((), ticks) = ticks_of(&street.intake, attack()).await;
    assert!(ticks <= TIMES * plain, "{ticks} ticks of the processor, where as many plain bytes take {plain}");
}
