use std::time::Duration;

use dripfeed_store::{Durability, PrivateServer, RedisSettings, Store};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::program::{self, Running, dripfeed, write};
use crate::terminal::Terminal;

const BUCKET: &str = "[buckets.one]\nupstream = \"http://127.0.0.1:9/\"\n";

/// The line that says that a replica has joined its bucket.
const JOINED: &str = "this replica has joined the bucket";

/// A processor of a folder's settings.
fn processor(folder: &TempDir, redis: &str, format: Option<&str>) -> std::process::Command {
    let file = write(folder.path(), "dripfeed.toml", BUCKET);
    let (url, format) = (format!("redis.url={redis}"), format.map(|format| format!("log.format={format}")));
    let set = ["--set", &url, "--set", "processor.listen=127.0.0.1:0"].into_iter();
    let set = set.chain(format.iter().flat_map(|format| ["--set", format]));
    dripfeed(&["processor", "-c", &file].into_iter().chain(set).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_log_that_nobody_reads_in_a_terminal_is_json_with_ids_as_fields() {
    let (folder, redis) = program::redis(&[]).await;
    let running = Running::start(&mut processor(&folder, &redis.url(), None));
    let line = running.says(JOINED);
    let line: Json = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["level"], &line["message"], &line["bucket"]), (&"INFO".into(), &JOINED.into(), &"one".into()));
    assert!(line["timestamp"].is_string(), "{line}");
    assert_eq!(running.end(), Some(0));
    redis.stop().await.unwrap();
}

#[tokio::test]
async fn a_log_in_a_terminal_is_for_people() {
    let (folder, redis) = program::redis(&[]).await;
    let terminal = Terminal::start(&mut processor(&folder, &redis.url(), None));
    terminal.shows("bucket=one");
    terminal.signal(nix::sys::signal::Signal::SIGTERM);
    redis.stop().await.unwrap();
}

#[tokio::test]
async fn a_format_that_is_set_holds_wherever_the_log_goes() {
    let (folder, redis) = program::redis(&[]).await;
    let running = Running::start(&mut processor(&folder, &redis.url(), Some("human")));
    assert!(running.says(JOINED).contains("bucket=one"));
    assert_eq!(running.end(), Some(0));
    let terminal = Terminal::start(&mut processor(&folder, &redis.url(), Some("json")));
    terminal.shows(r#""bucket":"one""#);
    terminal.signal(nix::sys::signal::Signal::SIGTERM);
    redis.stop().await.unwrap();
}

async fn store(server: &PrivateServer) -> Store {
    let settings = RedisSettings::new(server.address(), "dripfeed", Durability::Process);
    Store::connect(&settings).await.unwrap()
}

#[tokio::test]
async fn a_redis_that_stays_away_is_in_the_log_with_the_reason_also_soon_after_another_loss() {
    let (folder, server) = program::redis(&[]).await;
    let running = Running::start(&mut processor(&folder, &server.url(), None));
    running.says(JOINED);
    let store = store(&server).await;
    // A second loss within a minute is no news. That Redis stays away is.
    store
        .command::<i64>(redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").arg("SKIPME").arg("yes"))
        .await
        .unwrap();
    running.says("Redis connection lost");
    running.says("reconnected to Redis");
    server.stop().await.unwrap();
    let line: Json = serde_json::from_str(&running.says("can't connect to Redis")).unwrap();
    assert_eq!(line["level"], "WARN");
    assert!(line["error.sources"].to_string().contains("No such file or directory"), "{line}");
    assert_eq!(running.end(), Some(0));
}

#[tokio::test]
async fn a_redis_that_has_lost_its_data_is_reported() {
    let (folder, server) = program::redis(&[]).await;
    let running = Running::start(&mut processor(&folder, &server.url(), None));
    running.says(JOINED);
    let store = store(&server).await;
    store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
    let line: Json = serde_json::from_str(&running.says("Redis has lost its data")).unwrap();
    assert_eq!((&line["level"], &line["prefix"]), (&"ERROR".into(), &"dripfeed".into()));
    assert_eq!(running.end(), Some(0));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_redis_that_was_rolled_back_is_reported_with_the_time_that_it_is_of() {
    const STATE: &str = "dripfeed:{@installation}:state";
    let (folder, server) = program::redis(&[]).await;
    let running = Running::start(&mut processor(&folder, &server.url(), None));
    running.says(JOINED);
    let store = store(&server).await;
    let seen = async || store.command::<u64>(redis::cmd("HGET").arg(STATE).arg("seen")).await.unwrap();
    let at_start = seen().await;
    while seen().await == at_start {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // It has looked again. Redis goes back.
    store.command::<i64>(redis::cmd("HSET").arg(STATE).arg("seen").arg(1_577_836_800_000_u64)).await.unwrap();
    let line: Json = serde_json::from_str(&running.says("Redis has lost its latest writes")).unwrap();
    assert_eq!((&line["level"], &line["since"]), (&"ERROR".into(), &"2020-01-01T00:00:00Z".into()));
    assert_eq!(running.end(), Some(0));
    server.stop().await.unwrap();
}
