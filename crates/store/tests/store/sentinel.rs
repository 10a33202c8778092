use std::{fs, path::Path, time::Duration};

use dripfeed_store::{ErrorKind, PrivateServer, RedisSettings, ServerOptions, Store, StoreError};
use dripfeed_tests::redis_server::free_port;
use redis::cmd;
use tokio::process::{Child, Command};

use crate::{
    bench::{Bench, arguments, settings},
    durability::until_followed,
};

#[tokio::test]
async fn a_failover_is_followed() {
    let (master_port, replica_port, sentinel_port) = (free_port(), free_port(), free_port());
    let options = arguments("--repl-diskless-sync-delay 0");
    let master = Bench::with(ServerOptions { tcp_port: Some(master_port), ..options }).await;
    let replica_dir = tempfile::tempdir().unwrap();
    let options =
        ServerOptions { tcp_port: Some(replica_port), ..arguments(&format!("--replicaof 127.0.0.1 {master_port}")) };
    let _replica = PrivateServer::start(replica_dir.path(), options).await.unwrap();
    until_followed(&master.store).await;

    let sentinel_dir = tempfile::tempdir().unwrap();
    let _sentinel = sentinel(sentinel_dir.path(), &format!("port {sentinel_port}"), master_port);
    // A Sentinel that is gone must not keep the others from being asked.
    let gone = free_port();
    let mut settings = settings(&master.server);
    settings.url = format!("redis+sentinel://127.0.0.1:{gone},127.0.0.1:{sentinel_port}/drip").parse().unwrap();
    let store = reached(&settings).await;
    assert_eq!(served_by(&store).await.unwrap(), master_port);

    settings.url = format!("redis://127.0.0.1:{sentinel_port}").parse().unwrap();
    let sentinel_itself = Store::connect(&settings).await.unwrap();
    let mut failover = cmd("SENTINEL");
    failover.arg("FAILOVER").arg("drip");
    in_time(async { while sentinel_itself.command::<()>(&failover).await.is_err() {} }).await;

    in_time(async {
        loop {
            match served_by(&store).await {
                Ok(port) if port == replica_port => return,
                Ok(_) => tokio::task::yield_now().await,
                Err(_) => store.connected().await,
            }
        }
    })
    .await;
}

/// Connects as soon as the Sentinel knows its master.
async fn reached(settings: &RedisSettings) -> Store {
    in_time(async {
        loop {
            match Store::connect(settings).await {
                Ok(store) => return store,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}"),
            }
        }
    })
    .await
}

/// The port of the master that takes a write now.
async fn served_by(store: &Store) -> Result<u16, StoreError> {
    store.command::<()>(cmd("SET").arg("key").arg("value")).await?;
    let info: redis::InfoDict = store.command(cmd("INFO").arg("server")).await?;
    Ok(info.get("tcp_port").unwrap())
}

/// A Sentinel that watches the master; `listening`: where and how.
pub(crate) fn sentinel(dir: &Path, listening: &str, master_port: u16) -> Child {
    let config = dir.join("sentinel.conf");
    let lines = [
        listening.to_owned(),
        "bind 127.0.0.1".to_owned(),
        format!("dir {}", dir.display()),
        format!("logfile {}", dir.join("sentinel.log").display()),
        format!("sentinel monitor drip 127.0.0.1 {master_port} 1"),
    ];
    fs::write(&config, lines.join("\n")).unwrap();
    Command::new("redis-server").arg(&config).arg("--sentinel").kill_on_drop(true).spawn().unwrap()
}

pub(crate) async fn in_time<T>(event: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(90), event).await.unwrap()
}

#[tokio::test]
async fn sentinels_may_ask_for_a_login_of_their_own() {
    let (master_port, sentinel_port) = (free_port(), free_port());
    let master = Bench::with(ServerOptions { tcp_port: Some(master_port), ..ServerOptions::default() }).await;
    let dir = tempfile::tempdir().unwrap();
    let listening = format!("port {sentinel_port}\nuser watch on >word allchannels +@all\nuser default off");
    let _sentinel = sentinel(dir.path(), &listening, master_port);
    let mut settings = settings(&master.server);
    let url = format!("redis+sentinel://127.0.0.1:{sentinel_port}/drip");
    settings.url = format!("{url}?sentinel_user=watch&sentinel_pass=word").parse().unwrap();
    let store = reached(&settings).await;
    assert_eq!(served_by(&store).await.unwrap(), master_port);
    settings.url = url.parse().unwrap();
    assert_eq!(Store::connect(&settings).await.err().unwrap().kind(), ErrorKind::Denied);
}
