//! `dripfeed intake`: HTTP in.

use std::sync::Arc;

use axum::Router;
use dripfeed_bucket::Buckets;
use dripfeed_grpc::GrpcSettings;
use dripfeed_intake::{Decisions, Gauges, Health, Intake, IntakeMetrics, Keys, Listener, Tls};
use dripfeed_limit::Services;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connect::{self, Connected};
use super::grpc::Grpc;
use super::reload::Reloading;
use super::{Arguments, buckets, listen};
use crate::exit::Failure;
use crate::open_files;
use crate::settings::{Layers, Settings};
use crate::telemetry::Log;

/// Runs until SIGTERM.
///
/// # Errors
/// When it can't start, or its listener breaks.
pub(crate) async fn run(arguments: Arguments, layers: Layers) -> Result<(), Failure> {
    let settings = Settings::load(&layers)?;
    let log = Log::start(&settings.log);
    let stop = arguments.stop()?;
    let reloading = Reloading::new(layers, settings, log)?;
    let Some((role, ports)) = IntakeRole::open(&reloading.settings, &stop).await? else { return Ok(()) };
    tokio::select! {
        ended = role.serve(ports, stop) => ended,
        never = reloading.forever(|settings| role.reload(settings)) => match never {},
    }
}

/// An intake with all that it needs.
pub(crate) struct IntakeRole {
    connected: Connected,
    keys: Arc<Keys>,
    buckets: Arc<Buckets>,
    services: Services,
    /// None: HTTP in clear text.
    tls: Option<Tls>,
    intake: Intake,
    grpc: GrpcSettings,
}

/// Where it is to be reached.
pub(crate) struct Ports {
    pub(crate) http: TcpListener,
    /// None: off.
    grpc: Option<Grpc>,
}

impl IntakeRole {
    /// With the ports that it is to serve. None: told to stop before it could.
    ///
    /// # Errors
    /// When Redis or a port can't be had.
    pub(crate) async fn open(settings: &Settings, stop: &CancellationToken) -> Result<Option<(Self, Ports)>, Failure> {
        let Some(connected) = connect::to_redis(&settings.redis, stop).await? else { return Ok(None) };
        let buckets = Arc::new(Buckets::default());
        buckets.replace(buckets::configured(settings, |_| true, &connected, &buckets));
        let keys = Arc::new(Keys::new(settings.keys.iter().cloned()));
        let services = Services::open(connected.store.clone()).await;
        let mut registry = super::registry();
        let metrics = IntakeMetrics::register(&mut registry);
        let gauges = Gauges::register(Arc::clone(&buckets), &mut registry);
        Decisions::register(services.clone(), &mut registry);
        let health = Health::new(connected.store.clone(), gauges, Arc::new(registry));
        let mut of_intake = settings.intake.settings.clone();
        of_intake.max_connections = open_files::room_for("intake.max_connections", of_intake.max_connections);
        let intake = Intake::new(of_intake, Arc::clone(&keys), Arc::clone(&buckets), services.clone(), metrics, health);
        let tls = settings.intake.tls.clone().map(Tls::new);
        let http = listen("intake.listen", settings.intake.listen).await?;
        let grpc = match settings.grpc {
            Some(port) => Some(Grpc::open(port, &settings.intake, tls.clone()).await?),
            None => None,
        };
        let ports = Ports { http, grpc };
        let grpc = super::grpc::settings(&settings.intake);
        Ok(Some((Self { connected, keys, buckets, services, tls, intake, grpc }, ports)))
    }

    /// Serves until `stop`, then drains.
    ///
    /// # Errors
    /// When a listener breaks.
    pub(crate) async fn serve(&self, ports: Ports, stop: CancellationToken) -> Result<(), Failure> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        tracing::info!("listening on {scheme}://{}", ports.http.local_addr()?);
        let http = async { Ok(self.intake.serve(Listener::new(ports.http, self.tls.clone()), stop.clone()).await?) };
        let grpc = async {
            match ports.grpc {
                Some(grpc) => grpc.serve(self.grpc_calls(), stop.clone()).await,
                None => Ok(()),
            }
        };
        let served = tokio::try_join!(http, grpc);
        self.services.close().await;
        served?;
        tracing::info!("the intake has ended");
        Ok(())
    }

    fn grpc_calls(&self) -> Router {
        dripfeed_grpc::router(self.services.clone(), Arc::clone(&self.keys), self.grpc)
    }

    fn reload(&self, settings: &Settings) {
        self.buckets.replace(buckets::configured(settings, |_| true, &self.connected, &self.buckets));
        self.keys.replace(settings.keys.iter().cloned());
        if let (Some(tls), Some(identity)) = (&self.tls, &settings.intake.tls) {
            tls.replace(identity.clone());
        }
    }
}
