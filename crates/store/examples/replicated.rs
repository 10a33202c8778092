//! How many durable scripts a process gets done with the class `replicated`, and how long one takes, by the number of
//! buckets that have some at once: `cargo run -p dripfeed-store --example replicated`. Against a private server with
//! one replica.
#![expect(clippy::print_stdout, reason = "what it measured is what it is for")]

use std::error::Error;
use std::time::{Duration, Instant};

use dripfeed_store::{Durability, PrivateServer, RedisSettings, Script, ServerOptions, Store};
use futures::future::try_join_all;

const TIME: Duration = Duration::from_secs(5);

/// One after the other, and how long each took.
async fn append(store: &Store, script: &Script, bucket: usize) -> Result<Vec<Duration>, Box<dyn Error>> {
    let (key, begun, mut took) = (format!("test:{{b{bucket}}}:jobs"), Instant::now(), Vec::new());
    while begun.elapsed() < TIME {
        let (one, mut call) = (Instant::now(), script.on(&[&key]));
        call.arg(&[b'x'; 200][..]);
        store.run_durably::<String>(&call).await?;
        took.push(one.elapsed());
    }
    Ok(took)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (folder, follower) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let arguments = words("--min-replicas-to-write 1 --repl-diskless-sync-delay 0");
    let master = ServerOptions { tcp_port: Some(port), arguments, ..ServerOptions::default() };
    let master = PrivateServer::start(folder.path(), master).await?;
    let follow =
        ServerOptions { arguments: words(&format!("--replicaof 127.0.0.1 {port}")), ..ServerOptions::default() };
    let _replica = PrivateServer::start(follower.path(), follow).await?;
    let store = Store::connect(&RedisSettings::new(master.address(), "test", Durability::Replicated)).await?;
    let name = "append";
    let script = Script::new(name, &[], "return redis.call('XADD', KEYS[1], '*', 'body', ARGV[1])");
    while store.run_durably::<String>(script.on(&["test:{b}:first"]).arg("x")).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for buckets in [1, 2, 4, 8, 16] {
        let all = try_join_all((0..buckets).map(|bucket| append(&store, &script, bucket))).await?;
        let mut took: Vec<Duration> = all.into_iter().flatten().collect();
        took.sort_unstable();
        let (each, late) = (took[took.len() / 2], took[took.len() * 99 / 100]);
        let per_second = took.len() as f64 / TIME.as_secs_f64();
        println!("{buckets:>2} buckets: {per_second:>6.0} scripts/s, median {each:?}, p99 {late:?}");
    }
    Ok(())
}
