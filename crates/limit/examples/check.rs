//! Two limits on the requests of a caller, on a private Redis: `cargo run -p dripfeed-limit --example check`.
#![expect(clippy::print_stdout, reason = "it shows what it decides")]

use std::error::Error;

use dripfeed_limit::ratelimit_headers::seconds_up;
use dripfeed_limit::{Limiter, Request, load};
use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};

const RULES: &str = "
policies:
  - id: each
    key: [caller]
    tiers:
      - { kind: bucket, rate: 1/m, burst: 2 }
      - { kind: fixed, rate: 10000/day }
    message: retry-with-exponential-backoff
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let server = PrivateServer::start(folder.path(), ServerOptions::default()).await?;
    let store = Store::connect(&RedisSettings::new(server.address(), "example", Durability::Process)).await?;

    let limiter = Limiter::new(store, "shop", load::yaml(RULES)?)?;
    for caller in ["alice", "alice", "alice", "bob"] {
        let request = Request { caller: Some(caller), ..Request::new("GET", "/cart") };
        let decision = limiter.decide(&request).await?;
        match decision.retry_after() {
            _ if decision.allowed => println!("{caller}: allowed"),
            Some(wait) => println!("{caller}: {} in {} s", decision.message().unwrap_or_default(), seconds_up(wait)),
            None => println!("{caller}: never"),
        }
    }
    limiter.close().await?;
    Ok(())
}
