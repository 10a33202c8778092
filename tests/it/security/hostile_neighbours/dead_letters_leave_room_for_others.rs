//! Jobs of 1 MiB that all are refused, without end: their letters stay within their bound, and others within theirs.

use std::sync::LazyLock;

use bytes::Bytes;
use dripfeed_tests::service::until;

use super::attacks::{Attack, nothing};
use super::cost::memory_of_redis;
use super::neighbours::are_answered_beside;
use super::street::{MAX_BODY, Street};

pub const ATTACK: Attack = Attack {
    name: "dead letters of 1 MiB",
    settings: SETTINGS,
    prepare: nothing,
    strike: |street| Box::pin(strike(street)),
};

/// Room for 8 jobs, and for 8 letters.
const SETTINGS: &str = "[buckets.dying]\nupstream = \"{upstream}/refused\"\ncapacity_bytes = \"9MiB\"\n\
                        keep = { dead_bytes = \"8MiB\", outcomes_bytes = \"1MiB\" }\n";
/// As bytes of Redis, that a job or a letter of 1 MiB may take: what is allocated for it is rounded up.
const EACH: u64 = 5 << 18;
/// All else that the bucket and the neighbours take, tokens of batches included.
const ALL_ELSE: u64 = 16 << 20;

static BODY: LazyLock<Bytes> = LazyLock::new(|| vec![b'x'; MAX_BODY].into());

async fn strike(street: &Street) {
    let answer = street.hostile.submit("dying", BODY.clone()).await.expect("an answer");
    assert!([202, 429].contains(&answer.status), "{answer:?}");
}

/// Far beyond what Redis has room for here.
const MANY: usize = 120;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_leave_room_for_others() {
    let street = Street::over(SETTINGS, &["--maxmemory", "64mb"]).await;
    let before = memory_of_redis(&street).await;
    let mut submitted = 0;
    let attack = async {
        while submitted < MANY {
            let answer = street.hostile.submit("dying", BODY.clone()).await.expect("an answer");
            match answer.status {
                202 => submitted += 1,
                429 => tokio::task::yield_now().await,
                _ => panic!("{answer:?}"),
            }
            let most = before + (9 + 8) * EACH + ALL_ELSE;
            let now = memory_of_redis(&street).await;
            assert!(now <= most, "Redis holds {now} bytes, {most} at most by its bounds");
        }
        until("all of them are dead", async || street.service.level("dying").await == 0).await;
    };
    are_answered_beside(&street, attack).await;
    let left = street.service.redis::<u64>("XLEN dripfeed:{dying}:dead").await;
    assert!((1..=8).contains(&left), "{left} letters of 1 MiB within 8 MiB");
    let ended = street.service.redis::<usize>("HLEN dripfeed:{dying}:outcomes").await;
    assert_eq!(ended, MANY, "how each ended stays known");
}
