//! How much of Redis's own time a decision takes, as `INFO commandstats` reports it: `cargo run -p dripfeed-limit
//! --example redis_time`. Against a private server that does nothing else, and best on a machine that does nothing
//! else.
#![expect(clippy::print_stdout, reason = "what it measured is what it is for")]

use std::error::Error;
use std::time::Duration;

use dripfeed_limit::{KeyPart, Limiter, OnStoreError, Policies, Policy, PolicySettings, Request, Tier};
use dripfeed_store::{AppendFsync, Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use futures::future::try_join_all;

const ROUNDS: usize = 60;
/// In flight at once, and one after the other by each: Redis isn't left to wait for us.
const CALLERS: usize = 32;
const CALLS: usize = 32;

/// Buckets over windows of these seconds, which never refuse.
fn tiers(windows: &[u64]) -> Result<Vec<Tier>, Box<dyn Error>> {
    let bucket = |seconds: &u64| Tier::bucket(1_000_000 * seconds, Duration::from_secs(*seconds), 1_000_000);
    Ok(windows.iter().map(bucket).collect::<Result<_, _>>()?)
}

fn policies(scopes: usize, windows: &[u64]) -> Result<Policies, Box<dyn Error>> {
    let policy = |at: usize| -> Result<Policy, Box<dyn Error>> {
        let settings = PolicySettings::new(format!("p{at}").parse()?, tiers(windows)?);
        // On a machine so busy that an answer stays out, the others are measured all the same.
        let on_store_error = OnStoreError::Open;
        Ok(Policy::new(PolicySettings { key: vec![KeyPart::Caller], on_store_error, ..settings })?)
    };
    Ok(Policies::new((0..scopes).map(policy).collect::<Result<_, _>>()?)?)
}

/// µs per script call in one round.
async fn round(store: &Store, limiter: &Limiter) -> Result<f64, Box<dyn Error>> {
    let request = Request { caller: Some("acme"), ..Request::new("GET", "/") };
    store.command::<()>(redis::cmd("CONFIG").arg("RESETSTAT")).await?;
    try_join_all((0..CALLERS).map(|_| async {
        for _ in 0..CALLS {
            limiter.decide(&request).await?;
        }
        Ok::<_, dripfeed_limit::LimitError>(())
    }))
    .await?;
    let stats: String = store.command(redis::cmd("INFO").arg("commandstats")).await?;
    let scripts = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:")).ok_or("no script was called")?;
    let per_call = scripts.split("usec_per_call=").nth(1).and_then(|rest| rest.split(',').next());
    Ok(per_call.ok_or("no time was reported")?.parse()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let options = ServerOptions { append_only: false, append_fsync: AppendFsync::No, ..ServerOptions::default() };
    let server = PrivateServer::start(dir.path(), options).await?;
    let store = Store::connect(&RedisSettings::new(server.address(), "dripfeed", Durability::Process)).await?;
    println!("scopes  tiers  µs per decision: least and median of {ROUNDS} rounds of {} calls", CALLERS * CALLS);
    for (scopes, windows) in [(1, &[1][..]), (1, &[1, 60, 3600]), (3, &[1, 60])] {
        let limiter = Limiter::new(store.clone(), &format!("s{scopes}t{}", windows.len()), policies(scopes, windows)?)?;
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            times.push(round(&store, &limiter).await?);
        }
        times.sort_by(f64::total_cmp);
        println!("{scopes:6}  {:5}  {:5.1}  {:5.1}", windows.len(), times[0], times[ROUNDS / 2]);
    }
    Ok(())
}
