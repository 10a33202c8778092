//! `dripfeed intake`: HTTP in.

use std::sync::Arc;

use dripfeed_bucket::Buckets;
use dripfeed_intake::{Decisions, Gauges, Health, Intake, IntakeMetrics, Keys, Listener, Tls};
use dripfeed_limit::Services;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connect::{self, Connected};
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
    let Some((role, listener)) = IntakeRole::open(&reloading.settings, &stop).await? else { return Ok(()) };
    tokio::select! {
        ended = role.serve(listener, stop) => ended,
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
}

impl IntakeRole {
    /// With the port that it is to serve. None: told to stop before it could.
    ///
    /// # Errors
    /// When Redis or the port can't be had.
    pub(crate) async fn open(
        settings: &Settings,
        stop: &CancellationToken,
    ) -> Result<Option<(Self, TcpListener)>, Failure> {
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
        of_intake.max_connections = open_files::room_for(of_intake.max_connections);
        let intake = Intake::new(of_intake, Arc::clone(&keys), Arc::clone(&buckets), services.clone(), metrics, health);
        let listener = listen("intake.listen", settings.intake.listen).await?;
        let tls = settings.intake.tls.clone().map(Tls::new);
        Ok(Some((Self { connected, keys, buckets, services, tls, intake }, listener)))
    }

    /// Serves until `stop`, then drains.
    ///
    /// # Errors
    /// When the listener breaks.
    pub(crate) async fn serve(&self, listener: TcpListener, stop: CancellationToken) -> Result<(), Failure> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        tracing::info!("listening on {scheme}://{}", listener.local_addr()?);
        let served = self.intake.serve(Listener::new(listener, self.tls.clone()), stop).await;
        self.services.close().await;
        served?;
        tracing::info!("the intake has ended");
        Ok(())
    }

    fn reload(&self, settings: &Settings) {
        self.buckets.replace(buckets::configured(settings, |_| true, &self.connected, &self.buckets));
        self.keys.replace(settings.keys.iter().cloned());
        if let (Some(tls), Some(identity)) = (&self.tls, &settings.intake.tls) {
            tls.replace(identity.clone());
        }
    }
}
