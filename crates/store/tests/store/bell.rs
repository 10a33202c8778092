use std::time::Duration;

use dripfeed_store::{Bell, BellMessages, Ring, Store};
use futures::FutureExt as _;
use redis::cmd;

use crate::bench::Bench;

const PATIENCE: Duration = Duration::from_secs(60);

async fn rings(bell: &mut Bell) -> Ring {
    tokio::time::timeout(PATIENCE, bell.wait_for_ring()).await.unwrap()
}

/// One that is subscribed: that it began to listen was its first ring.
async fn bell(store: &Store, channel: &str) -> Bell {
    let mut bell = store.bell(channel, "new");
    assert_eq!(rings(&mut bell).await, Ring::Missed);
    bell
}

async fn publish(store: &Store, channel: &str, message: &str) {
    let heard: u32 = store.command(cmd("PUBLISH").arg(channel).arg(message)).await.unwrap();
    assert_eq!(heard, 1, "one connection for all bells");
}

#[tokio::test]
async fn a_bell_rings_for_its_word_on_its_channel_and_for_nothing_else() {
    let bench = Bench::new().await;
    let (mut one, mut other) = (bell(&bench.store, "one").await, bell(&bench.store, "other").await);
    publish(&bench.store, "one", "newer").await;
    publish(&bench.store, "one", "").await;
    publish(&bench.store, "other", "new").await;
    // Messages come in their order.
    assert_eq!(rings(&mut other).await, Ring::Message);
    assert_eq!(one.wait_for_ring().now_or_never(), None);
    publish(&bench.store, "one", "new").await;
    assert_eq!(rings(&mut one).await, Ring::Message);
    assert_eq!((one.wait_for_ring().now_or_never(), other.wait_for_ring().now_or_never()), (None, None));
}

#[tokio::test]
async fn a_bell_knows_whether_others_did_what_it_rang_for() {
    let bench = Bench::new().await;
    let mut other = bell(&bench.store, "other").await;
    let mut one = bench.store.bell("one", BellMessages { ring: "new", done: Some("done") });
    assert_eq!(rings(&mut one).await, Ring::Missed);
    let known = |one: &Bell| (one.was_done(), one.is_done());
    for was_done in [false, true, true] {
        publish(&bench.store, "one", "new").await;
        assert_eq!(rings(&mut one).await, Ring::Message);
        assert_eq!(known(&one), (was_done, false));
        publish(&bench.store, "one", "done").await;
        // Messages come in their order.
        publish(&bench.store, "other", "new").await;
        rings(&mut other).await;
        assert!(one.is_done());
        assert_eq!(one.wait_for_ring().now_or_never(), None);
    }
    for was_done in [true, false] {
        publish(&bench.store, "one", "new").await;
        assert_eq!(rings(&mut one).await, Ring::Message);
        assert_eq!(known(&one), (was_done, false));
    }
    publish(&bench.store, "one", "done").await;
    bench.store.command::<u64>(cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub")).await.unwrap();
    while rings(&mut one).await != Ring::Missed {}
    assert_eq!(known(&one), (false, false), "there may have been others since");
}

#[tokio::test]
async fn many_channels_are_subscribed_to_in_parts_and_each_once() {
    let bench = Bench::new().await;
    let open = |number: usize| bench.store.bell(&format!("channel-{number}"), "new");
    let mut bells: Vec<Bell> = (0..1200).map(open).collect();
    for bell in &mut bells {
        assert_eq!(rings(bell).await, Ring::Missed);
    }
    let parts = subscriptions(&bench.store).await;
    assert!((3..10).contains(&parts), "{parts}");
    // One more reader of a channel asks Redis for nothing: the next to be subscribed to is the new one.
    let mut again = open(0);
    assert_eq!(rings(&mut open(1200)).await, Ring::Missed);
    assert_eq!(subscriptions(&bench.store).await, parts + 1);
    publish(&bench.store, "channel-0", "new").await;
    assert_eq!(rings(&mut again).await, Ring::Message);
}

async fn subscriptions(store: &Store) -> u64 {
    let statistics: String = store.command(cmd("INFO").arg("commandstats")).await.unwrap();
    let line = statistics.lines().find_map(|line| line.strip_prefix("cmdstat_subscribe:calls="));
    line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test]
async fn a_reset_bell_ignores_earlier_messages_and_its_clone_rings_for_later_ones() {
    let bench = Bench::new().await;
    let mut one = bell(&bench.store, "one").await;
    let mut last = bell(&bench.store, "last").await;
    publish(&bench.store, "one", "new").await;
    publish(&bench.store, "last", "new").await;
    rings(&mut last).await;
    let mut copy = one.clone();
    one.reset();
    assert_eq!(one.wait_for_ring().now_or_never(), None);
    assert_eq!(copy.wait_for_ring().now_or_never(), Some(Ring::Message));
    publish(&bench.store, "one", "new").await;
    rings(&mut one.clone()).await;
    rings(&mut one).await;
}

#[tokio::test]
async fn a_bell_rings_when_its_connection_was_lost_and_rings_on() {
    let bench = Bench::new().await;
    let mut one = bell(&bench.store, "one").await;
    let killed: u32 = bench.store.command(cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub")).await.unwrap();
    assert_eq!(killed, 1);
    assert_eq!(rings(&mut one).await, Ring::Missed);
    publish(&bench.store, "one", "new").await;
    assert_eq!(rings(&mut one).await, Ring::Message);
}

#[tokio::test]
async fn a_redis_that_denies_subscriptions_is_not_asked_in_a_hot_loop() {
    let bench = Bench::new().await;
    let deny = ["SETUSER", "default", "-subscribe"];
    bench.store.command::<()>(cmd("ACL").arg(&deny)).await.unwrap();
    let mut one = bench.store.bell("one", "new");
    let denied = async || {
        let info: redis::InfoDict = bench.store.command(cmd("INFO").arg("commandstats")).await.unwrap();
        let statistics: Option<String> = info.get("cmdstat_subscribe");
        let rejected = statistics.as_deref().and_then(|all| all.split("rejected_calls=").nth(1)?.split(',').next());
        rejected.and_then(|calls| calls.parse::<u32>().ok()).unwrap_or(0)
    };
    tokio::time::timeout(PATIENCE, async {
        while denied().await < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let (before, begun) = (denied().await, std::time::Instant::now());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = denied().await - before;
    assert!(u64::from(asked) <= 20 * (begun.elapsed().as_secs() + 1), "asked {asked} times");
    assert_eq!(one.wait_for_ring().now_or_never(), None);
    bench.store.command::<()>(cmd("ACL").arg(&["SETUSER", "default", "+subscribe"])).await.unwrap();
    rings(&mut one).await;
}

#[tokio::test]
async fn redis_has_few_channels_that_nobody_reads_any_more() {
    let bench = Bench::new().await;
    let mut kept = bell(&bench.store, "kept").await;
    for number in 1..=5000 {
        let mut other = bench.store.bell(&format!("other {number}"), "new");
        if number % 500 == 0 {
            assert_eq!(rings(&mut other).await, Ring::Missed);
        }
    }
    let few = async {
        while bench.store.command::<Vec<String>>(cmd("PUBSUB").arg("CHANNELS")).await.unwrap().len() > 2000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, few).await.unwrap();
    kept.reset();
    let heard = async {
        while bench.store.command::<u32>(cmd("PUBLISH").arg("kept").arg("new")).await.unwrap() == 0 {}
        while kept.wait_for_ring().await == Ring::Missed {}
    };
    tokio::time::timeout(PATIENCE, heard).await.unwrap();
}
