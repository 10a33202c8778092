//! 2,000 requests that wait for an upstream's answer: they ask Redis nothing while they wait, and others wait beside
//! them.

use futures::future::join_all;
use http::Method;

use super::attacks::Attack;
use super::cost::OfRedis;
use super::neighbours::{are_answered_while_held, is_answered};
use super::street::{SHARED, Street};

pub const ATTACK: Attack = Attack {
    name: "500 requests with Prefer: wait",
    settings: SETTINGS,
    prepare: |street| Box::pin(pause(street)),
    strike: |street| {
        Box::pin(async {
            join_all((0..500).map(|_| wait(street))).await;
        })
    },
};

const SETTINGS: &str = "[buckets.paused]\nupstream = \"{upstream}\"\ncapacity = 100000\n";
const MANY: usize = 2000;
/// The most of one caller, by default.
const PLACES: usize = 100;

async fn pause(street: &Street) {
    let paused = street.hostile.post("/v1/buckets/paused/pause", "").await.expect("an answer");
    assert_eq!(paused.status, 200, "{paused:?}");
}

/// Whether its wait was granted.
async fn wait(street: &Street) -> bool {
    let request = street.hostile.request(Method::POST, "/v1/buckets/paused/jobs").header("prefer", "wait=60");
    let answer = street.hostile.call(request, "x").await.expect("an answer");
    // In the long run it fills its bucket.
    assert!(answer.status == 202 || answer.status == 429, "{answer:?}");
    answer.headers.contains_key("preference-applied")
}

/// What neighbours ask for meanwhile.
const ASKED: usize = 100;
/// How much more Redis may do beside those who wait: what each looks for periodically.
const MORE: u64 = 4000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_of_one_caller_hold_up_nobody() {
    let street = Street::open(SETTINGS).await;
    pause(&street).await;
    let quiet = async {
        for _ in 0..ASKED {
            is_answered(&street).await;
        }
    };
    let ((), quiet) = OfRedis::meanwhile(&street, quiet).await;

    // All but those with a place are answered at once, and don't wait.
    let mut waiting: Vec<_> = (0..MANY).map(|_| Box::pin(wait(&street))).collect();
    while waiting.len() > PLACES {
        let (granted, _, rest) = futures::future::select_all(waiting).await;
        assert!(!granted, "a wait ended before its time");
        waiting = rest;
    }
    let held = async {
        let (_, beside) =
            OfRedis::meanwhile(&street, are_answered_while_held(&street, ASKED, futures::future::select_all(waiting)))
                .await;
        beside
    };
    let beside = held.await;
    assert!(beside.commands <= 2 * quiet.commands + MORE, "beside those who wait {beside:?}, without them {quiet:?}");
    // And who isn't hostile may wait.
    let request =
        street.neighbour.request(Method::POST, &format!("/v1/buckets/{SHARED}/jobs")).header("prefer", "wait=20");
    let answer = street.neighbour.call(request, "x").await.expect("an answer");
    assert_eq!((answer.status, answer.headers.contains_key("preference-applied")), (200, true), "{answer:?}");
}
