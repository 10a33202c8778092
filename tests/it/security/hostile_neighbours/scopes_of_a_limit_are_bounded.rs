//! Another header and another address with each request: what limits count by these is bounded in keys and bytes, at a
//! bucket and at a service.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::Method;

use super::attacks::Attack;
use super::cost::memory_of_redis;
use super::neighbours::are_answered_beside;
use super::street::Street;

pub const ATTACK: Attack = Attack {
    name: "another header and address with each request",
    settings: SETTINGS,
    prepare: |street| register(street),
    strike: |street| Box::pin(strike(street)),
};

const MOST: usize = 256;
/// Everything passes: what is refused is charged to no count, and leaves none.
const SETTINGS: &str = r#"
[buckets.limited]
upstream = "{upstream}"
capacity = 100000
keep = { most_outcomes = 100 }
limits = [
  { id = "by-header", key = ["header:x-tenant"], max_scopes = 256, tiers = [
    { kind = "fixed", limit = 1000000, period = "1d" },
  ] },
  { id = "by-address", key = ["ip"], max_scopes = 256, tiers = [{ kind = "fixed", limit = 1000000, period = "1d" }] },
]
"#;
const RULES: &str = r#"{"policies":[
  {"id":"by-header","key":["header:x-tenant"],"max_scopes":256,
   "tiers":[{"kind":"fixed","limit":1000000,"period":"1d"}]},
  {"id":"by-address","key":["ip"],"max_scopes":256,"tiers":[{"kind":"fixed","limit":1000000,"period":"1d"}]}
]}"#;

fn register(street: &Street) -> BoxFuture<'_, ()> {
    Box::pin(async {
        let request = street.hostile.request(Method::PUT, "/v1/services/limited/rules");
        let answer = street.hostile.call(request.header("content-type", "application/json"), RULES).await;
        assert_eq!(answer.expect("an answer").status, 200);
    })
}

static NEXT: AtomicU32 = AtomicU32::new(0);

/// One job and one check, of a tenant and an address that were never seen.
async fn strike(street: &Street) {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let address = Ipv4Addr::from_bits(0x0b00_0000 + number);
    let tenant = format!("tenant-{number}-{}", "x".repeat(200));
    let job = street.hostile.request(Method::POST, "/v1/buckets/limited/jobs");
    let job = job.header("x-tenant", &tenant).header("x-forwarded-for", address.to_string());
    let answer = street.hostile.call(job, "x").await.expect("an answer");
    assert!([202, 429].contains(&answer.status), "{answer:?}");
    let check = street.hostile.request(Method::POST, "/v1/services/limited/check");
    let question = format!(r#"{{"method":"GET","path":"/","headers":{{"x-tenant":"{tenant}"}},"ip":"{address}"}}"#);
    let answer = street.hostile.call(check.header("content-type", "application/json"), question).await;
    let answer = answer.expect("an answer");
    // Nor does a check wait for long for a Redis that others keep.
    assert!([200, 503].contains(&answer.status), "{answer:?}");
}

/// Of each, eight times as many as there may be counts.
const VALUES: usize = 8 * MOST;
const AT_ONCE: usize = 16;
/// The README's bytes for a count.
const A_SCOPE: u64 = 150;
/// What else Redis holds: outcomes and tokens of those who got in meanwhile, and buffers of connections.
const ALL_ELSE: u64 = 2 << 20;

async fn scopes(street: &Street, tag: &str, policy: &str) -> Vec<String> {
    street.service.redis(&format!("KEYS dripfeed:{{{tag}}}:limit:{policy}:*")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scopes_of_a_limit_are_bounded() {
    let street = Street::open(SETTINGS).await;
    register(&street).await;
    strike(&street).await;
    let before = memory_of_redis(&street).await;
    let attack = async {
        let blows = futures::stream::iter(0..VALUES).map(|_| strike(&street));
        blows.buffer_unordered(AT_ONCE).for_each(async |()| {}).await;
        street.service.drained("limited").await;
    };
    are_answered_beside(&street, attack).await;
    let mut counts = 0;
    for tag in ["limited", "service:limited"] {
        for policy in ["by-header", "by-address"] {
            let scopes = scopes(&street, tag, policy).await;
            assert!(scopes.len() <= MOST, "{} counts of {tag} {policy}, {MOST} at most", scopes.len());
            assert!(scopes.len() > MOST / 2, "{} counts of {tag} {policy}: they were to be spread", scopes.len());
            for scope in &scopes {
                counts += street.service.redis::<u64>(&format!("MEMORY USAGE {scope}")).await;
            }
        }
    }
    let most = A_SCOPE * 4 * MOST as u64;
    assert!(counts <= most, "counts hold {counts} bytes, {most} at most");
    let now = memory_of_redis(&street).await;
    assert!(now <= before + most + ALL_ELSE, "Redis holds {now} bytes, and had {before}");
}
