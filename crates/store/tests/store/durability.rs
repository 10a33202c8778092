use std::time::Duration;

use dripfeed_store::{
    AppendFsync, Certainty, Durability, ErrorKind, PrivateServer, Script, ServerInfo, ServerOptions, Store,
    effective_durability, server_findings,
};
use dripfeed_tests::redis_server::free_port;
use redis::cmd;

use crate::bench::{Bench, arguments, settings};

#[tokio::test]
async fn the_server_of_dev_gives_everysec_and_no_more() {
    let bench = Bench::new().await;
    let facts = ServerInfo::gather(&bench.store, Durability::Everysec).await.unwrap();
    assert_eq!((facts.append_only, facts.append_fsync), (true, Some(AppendFsync::Everysec)));
    assert_eq!(server_findings(&facts, Durability::Everysec), []);
    assert!(effective_durability(Durability::Fsync, &facts).is_err());
    assert!(effective_durability(Durability::Replicated, &facts).is_err());
}

#[tokio::test]
async fn a_server_that_always_flushes_gives_fsync() {
    let options = ServerOptions { append_fsync: AppendFsync::Always, ..ServerOptions::default() };
    let bench = Bench::with(options).await;
    let facts = ServerInfo::gather(&bench.store, Durability::Everysec).await.unwrap();
    assert_eq!(effective_durability(Durability::Fsync, &facts).unwrap().class, Durability::Fsync);
}

#[tokio::test]
async fn a_server_that_denies_config_tells_the_rest() {
    let bench = Bench::with(arguments("--user app on >pw ~* +@all -config")).await;
    let mut settings = settings(&bench.server);
    settings.url = format!("{}?user=app&pass=pw", bench.server.url()).parse().unwrap();
    let store = Store::connect(&settings).await.unwrap();
    let facts = ServerInfo::gather(&store, Durability::Everysec).await.unwrap();
    assert_eq!((facts.append_only, facts.append_fsync), (true, None));
    assert_eq!(facts.eviction, "noeviction");
}

#[tokio::test]
async fn a_server_that_denies_config_is_not_asked_for_it_again() {
    let bench = Bench::with(arguments("--user app on >pw ~* +@all -config")).await;
    let mut settings = settings(&bench.server);
    settings.url = format!("{}?user=app&pass=pw", bench.server.url()).parse().unwrap();
    let store = Store::connect(&settings).await.unwrap();
    for _ in 0..3 {
        assert_eq!(ServerInfo::gather(&store, Durability::Everysec).await.unwrap().append_fsync, None);
    }
    let statistics: String = bench.store.command(cmd("INFO").arg("commandstats")).await.unwrap();
    let config = statistics.lines().find(|line| line.starts_with("cmdstat_config")).unwrap();
    assert!(config.contains("rejected_calls=1,"), "{config}");
}

#[tokio::test]
async fn a_replicated_write_waits_for_a_replica_and_is_unknown_without_its_word() {
    let port = free_port();
    let options = arguments("--min-replicas-to-write 1 --repl-diskless-sync-delay 0");
    let master = Bench::with(ServerOptions { tcp_port: Some(port), ..options }).await;
    let replica_dir = tempfile::tempdir().unwrap();
    let follow = arguments(&format!("--replicaof 127.0.0.1 {port}"));
    let replica = PrivateServer::start(replica_dir.path(), follow).await.unwrap();
    until_followed(&master.store).await;
    let facts = ServerInfo::gather(&master.store, Durability::Everysec).await.unwrap();
    assert_eq!(effective_durability(Durability::Replicated, &facts).unwrap().class, Durability::Replicated);

    let mut settings = settings(&master.server);
    settings.durability = Durability::Replicated;
    let store = Store::connect(&settings).await.unwrap();
    let script = Script::new("append", &[], "return redis.call('RPUSH', KEYS[1], ARGV[1])");
    let mut call = script.on(&["list"]);
    call.arg("body");
    assert_eq!(store.run_durably::<u32>(&call).await.unwrap(), 1);
    assert_eq!(store.run_durably::<u32>(&call).await.unwrap(), 2);

    let other = Store::connect(&settings).await.unwrap();
    let look = Script::new("look", &[], "return redis.call('LLEN', KEYS[1])");
    let look = look.on(&["list"]);
    assert_eq!(other.run_durably::<u32>(&look).await.unwrap(), 2);

    replica.pause().unwrap();
    let error = store.run_durably::<u32>(&call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotReplicated);
    assert_eq!(error.certainty(), Certainty::Unknown);
    let written: u32 = store.command(cmd("LLEN").arg("list")).await.unwrap();
    assert_eq!(written, 3);
    // Nor is it certain for who only finds it there, on another connection.
    let error = other.run_durably::<u32>(&look).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotReplicated);
}

#[tokio::test]
async fn a_write_that_cannot_be_waited_for_is_unknown_and_not_unwritten() {
    let bench = Bench::with(arguments("--user app on >pw ~* +@all -wait")).await;
    let mut settings = settings(&bench.server);
    settings.durability = Durability::Replicated;
    settings.url = format!("{}?user=app&pass=pw", bench.server.url()).parse().unwrap();
    let store = Store::connect(&settings).await.unwrap();
    let script = Script::new("append", &[], "return redis.call('RPUSH', KEYS[1], ARGV[1])");
    let mut call = script.on(&["list"]);
    call.arg("body");
    let error = store.run_durably::<u32>(&call).await.unwrap_err();
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::NotReplicated, Certainty::Unknown), "{error:?}");
    let written: u32 = bench.store.command(cmd("LLEN").arg("list")).await.unwrap();
    assert_eq!(written, 1);
}

/// Waits until a replica follows and has confirmed a write.
pub(crate) async fn until_followed(master: &Store) {
    let followed = async {
        while ServerInfo::gather(master, Durability::Everysec).await.map_or(0, |info| info.replicas) == 0 {
            tokio::task::yield_now().await;
        }
        // On one connection.
        let mut write = redis::pipe();
        write.cmd("SET").arg("followed").arg(1).ignore().cmd("WAIT").arg(1).arg(100);
        // One that is answered too late has confirmed nothing.
        while !matches!(master.pipeline::<(u32,)>(&write).await, Ok((1,))) {}
    };
    tokio::time::timeout(Duration::from_secs(60), followed).await.unwrap();
}
