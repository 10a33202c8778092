use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::{Certainty, ChannelEvent, ErrorKind, RedisSettings, ServerOptions, Store, StoreError};
use dripfeed_tests::redis_server::free_port;
use redis::cmd;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, watch};

use crate::bench::{Bench, arguments, settings};

/// For what must happen at last: far more than it takes, so that a machine that stands still changes nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// For what must not happen at all.
const A_WHILE: Duration = Duration::from_secs(1);

/// How long the store pauses at the most before it tries again, the tests of `reconnect_backoff.rs` say.
#[tokio::test]
async fn calls_fail_while_redis_is_down_and_work_when_it_is_back() {
    let mut bench = Bench::new().await;
    set(&bench.store, "before").await.unwrap();
    bench.server.kill().await.unwrap();

    let down = Instant::now();
    while down.elapsed() < Duration::from_secs(2) {
        let error = fails_in_time(&bench.store).await;
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        tokio::task::yield_now().await;
    }
    let error = set(&bench.store, "during").await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotStored);
    assert!(!bench.store.is_connected());

    bench.server.start_again().await.unwrap();
    tokio::time::timeout(PATIENCE, bench.store.connected()).await.unwrap();
    assert_eq!(get(&bench.store).await, "before");
}

#[tokio::test]
async fn a_loss_is_noticed_before_the_next_call() {
    let mut bench = Bench::new().await;
    set(&bench.store, "kept").await.unwrap();
    bench.server.kill().await.unwrap();
    bench.server.start_again().await.unwrap();
    tokio::time::timeout(PATIENCE, bench.store.connected()).await.unwrap();
    assert_eq!(get(&bench.store).await, "kept");
}

#[tokio::test]
async fn a_redis_that_is_stuck_lets_calls_fail_in_time_and_is_used_again_when_it_goes_on() {
    let bench = Bench::new().await;
    set(&bench.store, "before").await.unwrap();
    bench.server.pause().unwrap();
    for _ in 0..5 {
        let error = fails_in_time(&bench.store).await;
        assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Unreachable));
    }
    assert!(!bench.store.is_connected());
    bench.server.resume().unwrap();
    tokio::time::timeout(PATIENCE, bench.store.connected()).await.unwrap();
    set(&bench.store, "after").await.unwrap();
}

/// A call while Redis doesn't answer: however long that lasts, the call ends.
async fn fails_in_time(store: &Store) -> StoreError {
    tokio::time::timeout(PATIENCE, set(store, "during")).await.unwrap().unwrap_err()
}

/// Such as one of a process that stood still while it waited for a connection: its caller knows by then that it failed.
#[tokio::test]
async fn a_call_whose_time_is_over_is_not_sent() {
    let bench = Bench::new().await;
    set(&bench.store, "before").await.unwrap();
    bench.server.pause().unwrap();
    while bench.store.is_connected() {
        fails_in_time(&bench.store).await;
    }
    let mut late = Box::pin(set(&bench.store, "late"));
    assert!(futures::poll!(&mut late).is_pending(), "it waits for the connection");
    bench.server.resume().unwrap();
    tokio::time::timeout(PATIENCE, bench.store.connected()).await.unwrap();
    // Longer than any call may take.
    tokio::time::sleep(settings(&bench.server).response_timeout + A_WHILE).await;
    assert_eq!(late.await.unwrap_err().certainty(), Certainty::NotStored);
    assert_ne!(get(&bench.store).await, "late");
}

#[tokio::test]
async fn a_hundred_callers_share_one_renewal() {
    let bench = Bench::new().await;
    let before = connections_made(&bench.store).await;
    let mut kill = cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("normal").arg("SKIPME").arg("no");
    let _ = bench.store.command::<u32>(&kill).await;
    let calls = (0..100).map(|_| set(&bench.store, "value"));
    for outcome in futures::future::join_all(calls).await {
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::Unreachable);
        }
    }
    bench.store.connected().await;
    set(&bench.store, &"large".repeat(100_000)).await.unwrap();
    // One for what is small, and one for what is large.
    assert_eq!(connections_made(&bench.store).await, before + 2);
}

#[tokio::test]
async fn a_store_that_is_closed_while_it_reconnects_makes_no_more_connections() {
    let mut bench = Bench::new().await;
    let store = Store::connect(&settings(&bench.server)).await.unwrap();
    let mut subscription = store.subscribe("news");
    assert!(matches!(subscription.next().await, Some(ChannelEvent::Missed)));
    bench.server.kill().await.unwrap();
    assert_eq!(store.ping().await.unwrap_err().kind(), ErrorKind::Unreachable);
    store.close();
    assert!(subscription.next().await.is_none());
    let late = tokio::time::timeout(PATIENCE, async { store.subscribe("late").next().await }).await;
    assert!(matches!(late, Ok(None)), "{late:?}");

    bench.server.start_again().await.unwrap();
    tokio::time::timeout(PATIENCE, bench.store.connected()).await.unwrap();
    set(&bench.store, &"large".repeat(100_000)).await.unwrap();
    let made = connections_made(&bench.store).await;
    assert!(tokio::time::timeout(A_WHILE, store.connected()).await.is_err(), "it is closed");
    assert_eq!(connections_made(&bench.store).await, made);
    assert_eq!(store.ping().await.unwrap_err().kind(), ErrorKind::Unreachable);
}

#[test]
fn a_redis_whose_name_could_not_be_looked_up_is_used_again_once_there_are_threads() {
    let threads = Threads::default();
    threads.runtime().block_on(async {
        let port = free_port();
        let bench = Bench::with(ServerOptions { tcp_port: Some(port), ..ServerOptions::default() }).await;
        let url = format!("redis://localhost:{port}").parse().unwrap();
        let store = Store::connect(&RedisSettings { url, ..settings(&bench.server) }).await.unwrap();
        let mut subscription = store.subscribe("news");
        assert!(matches!(subscription.next().await, Some(ChannelEvent::Missed)));
        // The threads of the first lookups would do the next ones as well.
        threads.running.subscribe().wait_for(|running| *running == 0).await.unwrap();
        threads.are_refused.store(true, Ordering::SeqCst);
        let kill = cmd("CLIENT");
        for connections in ["normal", "pubsub"] {
            bench.store.command::<u32>(kill.clone().arg("KILL").arg("TYPE").arg(connections)).await.unwrap();
        }
        threads.refused.notified().await;
        let error = store.ping().await.unwrap_err();
        assert_eq!((error.kind(), error.certainty()), (ErrorKind::Unreachable, Certainty::NotStored));

        threads.are_refused.store(false, Ordering::SeqCst);
        tokio::time::timeout(PATIENCE, store.connected()).await.unwrap();
        store.ping().await.unwrap();
        let again = tokio::time::timeout(PATIENCE, subscription.next()).await;
        assert!(matches!(again, Ok(Some(ChannelEvent::Missed))), "{again:?}");
    });
}

/// The threads of a runtime, which panics where the system gives it none.
#[derive(Clone, Default)]
struct Threads {
    are_refused: Arc<AtomicBool>,
    refused: Arc<Notify>,
    running: watch::Sender<usize>,
}

impl Threads {
    fn runtime(&self) -> Runtime {
        let Self { are_refused, refused, running } = self.clone();
        let (started, ended) = (running.clone(), running);
        let name = move || {
            if are_refused.load(Ordering::SeqCst) {
                refused.notify_one();
                panic!("OS can't spawn worker thread");
            }
            "lookup".to_owned()
        };
        let mut builder = Builder::new_current_thread();
        builder.enable_all().thread_keep_alive(Duration::ZERO).thread_name_fn(name);
        builder.on_thread_start(move || started.send_modify(|running| *running += 1));
        builder.on_thread_stop(move || ended.send_modify(|running| *running -= 1));
        builder.build().unwrap()
    }
}

#[tokio::test]
async fn connecting_to_nobody_says_where() {
    let bench = Bench::new().await;
    let settings = settings(&bench.server);
    bench.server.stop().await.unwrap();
    let error = Store::connect(&settings).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("redis.sock"), "{error}");
}

#[tokio::test]
async fn a_redis_with_as_many_clients_as_it_takes_is_waited_for() {
    let port = free_port();
    let bench = Bench::with(ServerOptions { tcp_port: Some(port), ..ServerOptions::default() }).await;
    let url = format!("redis://127.0.0.1:{port}").parse().unwrap();
    let settings = RedisSettings { url, ..settings(&bench.server) };
    let mut limit = cmd("CONFIG");
    limit.arg("SET").arg("maxclients");
    bench.store.command::<()>(limit.clone().arg(1)).await.unwrap();
    // Redis may close the connection before its words are read.
    for _ in 0..20 {
        let error = Store::connect(&settings).await.err().unwrap();
        assert!(error.is_transient(), "{error:?}");
        assert_eq!(error.certainty(), Certainty::NotStored);
        let why = format!("{error} {:?}", error.source().map(ToString::to_string));
        assert!(why.contains("maxclients") || why.contains("max number of clients"), "{why}");
    }
    bench.store.command::<()>(limit.arg(1000)).await.unwrap();
    Store::connect(&settings).await.unwrap();
}

#[tokio::test]
async fn a_wrong_password_is_denied() {
    let bench = Bench::with(arguments("--user app on >right ~* +@all")).await;
    let mut settings = settings(&bench.server);
    let url = bench.server.url();
    settings.url = format!("{url}?user=app&pass=right").parse().unwrap();
    Store::connect(&settings).await.unwrap();
    settings.url = format!("{url}?user=app&pass=canary").parse().unwrap();
    let error = Store::connect(&settings).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(!format!("{error} {error:?}").contains("canary"));
}

async fn set(store: &Store, value: &str) -> Result<(), StoreError> {
    store.command(cmd("SET").arg("key").arg(value)).await
}

async fn get(store: &Store) -> String {
    store.command(cmd("GET").arg("key")).await.unwrap()
}

async fn connections_made(store: &Store) -> u64 {
    let info: redis::InfoDict = store.command(cmd("INFO").arg("stats")).await.unwrap();
    info.get("total_connections_received").unwrap()
}
