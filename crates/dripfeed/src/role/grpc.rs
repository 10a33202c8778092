//! The gRPC port and its services.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use dripfeed_grpc::GrpcSettings;
use dripfeed_http::{ConnectionLimits, Listener, Tls};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::listen;
use crate::exit::Failure;
use crate::open_files;
use crate::settings::{GrpcPort, IntakeRole};

/// The bound gRPC port, with its limits and TLS.
pub(crate) struct Grpc {
    listener: TcpListener,
    limits: ConnectionLimits,
    tls: Option<Tls>,
}

impl Grpc {
    /// Binds the port. Timeouts, connections per address, drain time and TLS are those of the intake.
    ///
    /// # Errors
    /// When the port can't be bound.
    pub(crate) async fn open(port: GrpcPort, intake: &IntakeRole, tls: Option<Tls>) -> Result<Self, Failure> {
        let limits = ConnectionLimits {
            most: open_files::room_for("grpc.max_connections", port.max_connections),
            most_per_address: intake.settings.max_connections_per_address,
            head_timeout: intake.settings.head_timeout,
            idle_timeout: intake.settings.idle_timeout,
            stall_timeout: intake.settings.body_timeout,
            drain: intake.settings.drain,
        };
        Ok(Self { listener: listen("grpc.listen", port.listen).await?, limits, tls })
    }

    /// # Errors
    /// When the system doesn't return the address.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`, then drains.
    ///
    /// # Errors
    /// When the listener fails.
    pub(crate) async fn serve(self, router: Router, stop: CancellationToken) -> Result<(), Failure> {
        let scheme = if self.tls.is_some() { "grpcs" } else { "grpc" };
        tracing::info!("listening on {scheme}://{}", self.listener.local_addr()?);
        Ok(dripfeed_http::serve(Listener::http2(self.listener, self.tls), router, self.limits, stop).await?)
    }
}

/// Returns the settings of the gRPC API, which are those of the HTTP API.
pub(crate) fn settings(intake: &IntakeRole) -> GrpcSettings {
    GrpcSettings {
        timeout: intake.settings.body_timeout,
        x_ratelimit_headers: intake.settings.x_ratelimit_headers,
        hosts: intake.settings.hosts.clone(),
    }
}
