//! A script on a private Redis, run as durably as the settings ask: `cargo run -p dripfeed-store --example script`.
#![expect(clippy::print_stdout, reason = "it shows what Redis answers")]

use std::error::Error;

use dripfeed_store::{Durability, PrivateServer, RedisSettings, Script, ServerOptions, Store};

// It needs no fragments of others.
static APPEND: Script = Script::new("append", &[], "return redis.call('RPUSH', KEYS[1], ARGV[1])");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let server = PrivateServer::start(folder.path(), ServerOptions::default()).await?;
    let settings = RedisSettings::new(server.address(), "example", Durability::Everysec);
    let store = Store::connect(&settings).await?;

    for item in ["one", "two"] {
        let length: u64 = store.run_durably(APPEND.on(&["example:list"]).arg(item)).await?;
        println!("{item}: {length} in the list");
    }
    // A caller that repeats a write must know whether the first one may have happened.
    store.command::<()>(redis::cmd("SET").arg("example:text").arg("no list")).await?;
    if let Err(error) = store.run::<u64>(APPEND.on(&["example:text"]).arg("three")).await {
        println!("{error} ({:?})", error.certainty());
    }
    server.stop().await?;
    if let Err(error) = store.ping().await {
        println!("{error} (transient: {})", error.is_transient());
    }
    Ok(())
}
