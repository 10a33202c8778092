//! The roles: processes that run until they are told to stop. `intake` and `processor` meet only in Redis.

mod buckets;
mod connect;
mod grpc;
pub(crate) mod intake;
pub(crate) mod processor;
mod reload;
mod vigil;

use std::net::SocketAddr;

use clap::Args;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::exit::Failure;
use crate::signals;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Stop, as at SIGTERM, when standard input ends: a process that was started over a pipe then never outlives the one
    /// that started it
    #[arg(long)]
    until_stdin_ends: bool,
}

impl Arguments {
    fn stop(&self) -> Result<CancellationToken, Failure> {
        let stop = signals::stop()?;
        if self.until_stdin_ends {
            signals::stop_with_stdin(stop.clone());
        }
        Ok(stop)
    }
}

/// Takes the port that `key` names.
async fn listen(key: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| anyhow::anyhow!("can't listen on {address} ({key}): {error}").into())
}

/// For the metrics of a role.
fn registry() -> Registry {
    Registry::with_prefix("dripfeed")
}
