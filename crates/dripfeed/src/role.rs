//! The roles: long-running processes. `intake` and `processor` communicate only through Redis.

mod buckets;
mod connect;
mod defined;
pub(crate) mod drain;
mod exposure;
mod grpc;
mod history;
pub(crate) mod intake;
pub(crate) mod outcomes;
pub(crate) mod processor;
mod redis_memory;
mod redis_monitor;
mod redis_permissions;
mod reload;
mod replays;
mod retention;
pub(crate) mod served;
pub(crate) mod settings_metrics;
mod upkeep;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use dripfeed_http::ConnectionLimits;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::background;
use crate::exit::Failure;
use crate::signals;

/// For a listener that serves only health and metrics, which has few clients and short requests.
const HEALTH_LIMITS: ConnectionLimits = ConnectionLimits {
    most: 64,
    most_per_address: 64,
    head_timeout: Duration::from_secs(10),
    idle_timeout: Duration::from_secs(75),
    stall_timeout: Duration::from_secs(10),
    drain: Duration::from_millis(500),
};

/// By how much periodic work is delayed. A start takes a few milliseconds.
const START_DELAY: Duration = Duration::from_millis(50);

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Shut down, as on SIGTERM, when standard input is closed, so that the process doesn't outlive the one that
    /// started it
    #[arg(long)]
    until_stdin_ends: bool,
}

impl Arguments {
    fn stop(&self) -> Result<CancellationToken, Failure> {
        Ok(self.also_at_end_of_stdin(signals::stop()?))
    }

    /// For a role that doesn't reload its settings, so SIGHUP stops it.
    fn stop_with_terminal(&self) -> Result<CancellationToken, Failure> {
        Ok(self.also_at_end_of_stdin(signals::stop_with_terminal()?))
    }

    fn also_at_end_of_stdin(&self, stop: CancellationToken) -> CancellationToken {
        if self.until_stdin_ends {
            // Delayed, because tokio starts a thread to read standard input.
            background::spawn(after_start(signals::stop_with_stdin(stop.clone())));
        }
        stop
    }
}

/// Delays `work`, so that it doesn't delay readiness and the first requests.
fn after_start<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    // Boxed to keep the future of the role small.
    Box::pin(async move {
        tokio::time::sleep(START_DELAY).await;
        work.await
    })
}

/// Binds the address that the setting `key` determines.
async fn listen(key: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse if key == "intake.listen" => {
                "; stop the process that has it, or set another intake.listen (`dripfeed dev` has --port)".to_owned()
            }
            ErrorKind::AddrInUse => format!("; stop the process that has it, or set another {key}"),
            ErrorKind::AddrNotAvailable => "; use an address of this machine, or 0.0.0.0 for all of them".to_owned(),
            ErrorKind::PermissionDenied => "; use a port from 1024 on, or grant CAP_NET_BIND_SERVICE".to_owned(),
            _ => String::new(),
        };
        anyhow::anyhow!("can't listen on {address} ({key}): {error}{hint}").into()
    })
}

/// Creates the registry for the metrics of a role.
fn registry() -> Registry {
    Registry::with_prefix("dripfeed")
}
