//! Batches as large as a body may be, in few items or in many: each is judged in bounded scripts, and others get in
//! between.

use std::sync::LazyLock;

use bytes::Bytes;
use futures::future::join_all;

use super::attacks::{Attack, nothing};
use super::cost::{OfRedis, of_plain_batches, ticks_of};
use super::many_options_cost_no_more_than_their_bytes::TIMES;
use super::neighbours::are_answered_beside;
use super::street::{MAX_BODY, SHARED, Street};

pub const ATTACK: Attack = Attack {
    name: "batches of 1 MiB: one job, 1,000 jobs, 100,000 items",
    settings: "",
    prepare: nothing,
    strike: |street| Box::pin(strike(street)),
};

/// Maximum number of jobs in a batch, by default.
const MOST: usize = 1000;

/// One job, as many as there may be, and more than that.
static BATCHES: LazyLock<[Bytes; 3]> = LazyLock::new(|| {
    let job = |bytes: usize| format!("{{\"body\":\"{}\"}}\n", "x".repeat(bytes - 12));
    [job(MAX_BODY), job(MAX_BODY / MOST - 1).repeat(MOST), "{\"body\":1}\n".repeat(MAX_BODY / 11)].map(Bytes::from)
});

async fn strike(street: &Street) {
    let path = format!("/v1/buckets/{SHARED}/jobs/batch");
    let [one, many, too_many] = BATCHES.each_ref();
    for (batch, statuses) in [(one, &[202, 429][..]), (many, &[202, 207, 429]), (too_many, &[400, 413, 422])] {
        let answer = street.hostile.post(&path, batch.clone()).await.expect("an answer");
        assert!(statuses.contains(&answer.status), "{}: {answer:?}", batch.len());
    }
}

const BLOWS: usize = 4;
/// Commands that Redis carries out for a job, from the submission to its outcome, at the most.
const COMMANDS: u64 = 60;
/// And meanwhile for all else, neighbours included.
const ALL_ELSE: u64 = 20_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_may_be_as_large_as_a_body() {
    let street = Street::open("").await;
    let plain = of_plain_batches(&street, BLOWS, MAX_BODY).await;
    let attack = async {
        join_all((0..BLOWS).map(|_| strike(&street))).await;
        street.service.drained(SHARED).await;
    };
    let beside = OfRedis::meanwhile(&street, are_answered_beside(&street, attack));
    let (((), cost), ticks) = ticks_of(&street.intake, beside).await;
    let jobs = (BLOWS * (MOST + 1)) as u64;
    assert!(cost.commands <= COMMANDS * jobs + ALL_ELSE, "{cost:?} for {jobs} jobs");
    // Three batches of each.
    assert!(ticks <= 3 * TIMES * plain, "{ticks} ticks of the processor, where as many plain bytes take {plain}");
}
