use dripfeed_store::{PrivateServer, ServerError, ServerOptions};
use redis::cmd;

use crate::bench::{Bench, arguments, settings};

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused() {
    let bench = Bench::new().await;
    let pid = bench.server.pid().unwrap().to_string();
    let error = PrivateServer::start(bench.dir.path(), ServerOptions::default()).await.unwrap_err();
    assert!(matches!(&error, ServerError::AlreadyRunning { .. }), "{error}");
    assert!(error.to_string().contains(&pid), "{error}");
}

#[tokio::test]
async fn data_outlives_an_orderly_stop() {
    let bench = Bench::new().await;
    let mut set = cmd("SET");
    set.arg("key").arg("kept");
    bench.store.command::<()>(&set).await.unwrap();
    bench.server.stop().await.unwrap();

    let server = PrivateServer::start(bench.dir.path(), ServerOptions::default()).await.unwrap();
    let store = dripfeed_store::Store::connect(&settings(&server)).await.unwrap();
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
async fn its_death_is_told() {
    let mut bench = Bench::new().await;
    let _ = bench.store.command::<()>(&cmd("SHUTDOWN")).await;
    let told = bench.server.died().await;
    assert!(matches!(told, ServerError::Died { .. }), "{told}");
}
