//! Pages over parked jobs of 1 MiB, dead letters of 1 MiB and their outcomes: no page makes Redis send the bodies.

use dripfeed_tests::service::until;
use futures::future::BoxFuture;
use http::Method;

use super::attacks::Attack;
use super::cost::OfRedis;
use super::neighbours::are_answered_beside;
use super::street::{MAX_BODY, Street};

pub const ATTACK: Attack = Attack {
    name: "pages over 1 MiB jobs, parked and dead",
    settings: SETTINGS,
    prepare: |street| prepare(street),
    strike: |street| Box::pin(pages(street, None)),
};

const SETTINGS: &str = "[buckets.large]\nupstream = \"{upstream}/refused\"\ncapacity_bytes = \"64MiB\"\n";
const JOBS: usize = 24;

fn prepare(street: &Street) -> BoxFuture<'_, ()> {
    Box::pin(async {
        let body = "x".repeat(MAX_BODY);
        for job in 0..JOBS {
            let mut request = street.hostile.request(Method::POST, "/v1/buckets/large/jobs");
            if job % 2 == 0 {
                request = request.header("dripfeed-delay", "1h");
            }
            let answer = street.hostile.call(request, body.clone()).await.expect("an answer");
            assert_eq!(answer.status, 202, "{answer:?}");
        }
        until("half of them are parked and half are dead", async || {
            let counts = street.service.counts("large").await;
            (counts.parked, counts.dead) == (JOBS as u64 / 2, JOBS as u64 / 2)
        })
        .await;
    })
}

/// What may be paged over, and how many there are.
const LISTS: [(&str, usize); 4] = [
    ("jobs?state=parked", JOBS / 2),
    ("jobs?limit=1000", JOBS / 2),
    ("dead?limit=1000", JOBS / 2),
    ("outcomes?limit=1000", JOBS / 2),
];
/// What Redis may send in a script's answer: its budget of 4 MiB, and what is added to that.
const ANSWER: u64 = 5 << 20;

/// Each list from beginning to end. `most` becomes the most that Redis sent for a page, with what neighbours got
/// meanwhile. None: Redis isn't asked for that, since no caller can make it answer `INFO`.
async fn pages(street: &Street, mut most: Option<&mut u64>) {
    for (list, expected) in LISTS {
        let (mut found, mut cursor) = (0, String::new());
        loop {
            let path = format!("/v1/buckets/large/{list}{cursor}");
            let asked = street.hostile.get(&path);
            let answer = match &mut most {
                None => asked.await,
                Some(most) => {
                    let (answer, cost) = OfRedis::meanwhile(street, asked).await;
                    **most = cost.sent.max(**most);
                    answer
                }
            };
            let answer = answer.expect("an answer");
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            let page = answer.json();
            found += page["items"].as_array().expect("items").len();
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, expected, "{list}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_over_large_jobs_are_bounded() {
    let street = Street::open(SETTINGS).await;
    prepare(&street).await;
    let mut most = 0;
    are_answered_beside(&street, pages(&street, Some(&mut most))).await;
    assert!(most <= ANSWER, "Redis sent {most} bytes for a page");
}
