use std::path::Path;
use std::process::Stdio;

use dripfeed_store::{Address, Durability, PrivateServer, RedisSettings, ServerError, ServerOptions, Store};
use redis::cmd;
use tokio::process::{Child, Command};

use crate::bench::{Bench, arguments, settings};

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused() {
    let bench = Bench::new().await;
    let pid = bench.server.pid().unwrap().to_string();
    let error = PrivateServer::start(bench.dir.path(), ServerOptions::default()).await.unwrap_err();
    assert!(matches!(&error, ServerError::AlreadyRunning { .. }), "{error}");
    assert!(error.to_string().contains(&pid), "{error}");
}

/// One whose starter was killed: it has the folder, and nobody the lock.
async fn left_in(folder: &Path) -> Child {
    let socket = folder.join("redis.sock");
    let mut command = Command::new("redis-server");
    command.arg("--dir").arg(folder).arg("--unixsocket").arg(&socket).args(["--port", "0", "--appendonly", "yes"]);
    let server = command.stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    while tokio::net::UnixStream::connect(&socket).await.is_err() {
        tokio::task::yield_now().await;
    }
    server
}

#[tokio::test]
async fn a_server_left_in_the_folder_is_shut_down_with_its_data_saved() {
    let dir = tempfile::tempdir().unwrap();
    let mut left = left_in(dir.path()).await;
    let address: Address = format!("unix://{}", dir.path().join("redis.sock").display()).parse().unwrap();
    let store = Store::connect(&RedisSettings::new(address, "", Durability::Process)).await.unwrap();
    store.command::<()>(cmd("SET").arg("key").arg("kept")).await.unwrap();

    // In another folder a link leads to it: there it is another's.
    let other = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(dir.path().join("redis.sock"), other.path().join("redis.sock")).unwrap();
    let refused = PrivateServer::start(other.path(), ServerOptions::default()).await;
    assert!(matches!(refused, Err(ServerError::AlreadyRunning { .. })));
    store.ping().await.unwrap();

    let server = PrivateServer::start(dir.path(), ServerOptions::default()).await.unwrap();
    assert!(left.wait().await.unwrap().success());
    let store = Store::connect(&settings(&server)).await.unwrap();
    assert_eq!(store.command::<String>(cmd("GET").arg("key")).await.unwrap(), "kept");
}

#[tokio::test]
async fn data_outlives_an_orderly_stop() {
    let bench = Bench::new().await;
    let mut set = cmd("SET");
    set.arg("key").arg("kept");
    bench.store.command::<()>(&set).await.unwrap();
    bench.server.stop().await.unwrap();

    let server = PrivateServer::start(bench.dir.path(), ServerOptions::default()).await.unwrap();
    let store = Store::connect(&settings(&server)).await.unwrap();
    let kept: String = store.command(cmd("GET").arg("key")).await.unwrap();
    assert_eq!(kept, "kept");
}

#[tokio::test]
async fn a_server_that_ends_at_once_shows_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let options = arguments("--no-such-setting 1");
    let error = PrivateServer::start(dir.path(), options).await.unwrap_err();
    assert!(error.to_string().contains("no-such-setting"), "{error}");
}

#[tokio::test]
async fn a_folder_with_a_long_path_works_too() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a".repeat(120));
    let mut server = PrivateServer::start(&deep, ServerOptions::default()).await.unwrap();
    let again = PrivateServer::start(&deep, ServerOptions::default()).await;
    assert!(matches!(again, Err(ServerError::AlreadyRunning { .. })));
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    server.stop().await.unwrap();
    PrivateServer::start(&deep, ServerOptions::default()).await.unwrap();
}

#[tokio::test]
async fn the_death_of_the_server_is_reported() {
    let mut bench = Bench::new().await;
    let _ = bench.store.command::<()>(&cmd("SHUTDOWN")).await;
    let told = bench.server.died().await;
    assert!(matches!(told, ServerError::Died { .. }), "{told}");
}
