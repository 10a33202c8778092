//! `dripfeed intake`: HTTP in.

use std::net::SocketAddr;
use std::sync::Arc;

use dripfeed_bucket::Buckets;
use dripfeed_intake::{Gauges, Health, Intake, IntakeMetrics, Keys};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connect::{self, Connected};
use super::reload::Reloading;
use super::{Arguments, buckets, listen};
use crate::exit::Failure;
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
    let Some(role) = IntakeRole::open(&settings, &stop).await? else { return Ok(()) };
    role.serve(Reloading { layers, settings, log }, stop).await
}

/// An intake that holds its port.
pub(crate) struct IntakeRole {
    connected: Connected,
    listener: TcpListener,
    address: SocketAddr,
    keys: Arc<Keys>,
    buckets: Arc<Buckets>,
    intake: Intake,
}

impl IntakeRole {
    /// None: told to stop before it could.
    ///
    /// # Errors
    /// When Redis or the port can't be had.
    pub(crate) async fn open(settings: &Settings, stop: &CancellationToken) -> Result<Option<Self>, Failure> {
        let Some(connected) = connect::to_redis(&settings.redis, stop).await? else { return Ok(None) };
        let buckets = Arc::new(Buckets::default());
        buckets.replace(buckets::configured(settings, |_| true, &connected, &buckets));
        let keys = Arc::new(Keys::new(settings.keys.iter().cloned()));
        let mut registry = super::registry();
        let metrics = IntakeMetrics::register(&mut registry);
        let gauges = Gauges::register(Arc::clone(&buckets), &mut registry);
        let health = Health::new(connected.store.clone(), gauges, Arc::new(registry));
        let intake = settings.intake.settings.clone();
        let intake = Intake::new(intake, Arc::clone(&keys), Arc::clone(&buckets), metrics, health);
        let (listener, address) = listen("intake.listen", settings.intake.listen).await?;
        Ok(Some(Self { connected, listener, address, keys, buckets, intake }))
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, then drains.
    ///
    /// # Errors
    /// When the listener breaks.
    pub(crate) async fn serve(self, reloading: Reloading, stop: CancellationToken) -> Result<(), Failure> {
        let Self { connected, listener, address, keys, buckets, intake } = self;
        let reload = |settings: &Settings| {
            buckets.replace(buckets::configured(settings, |_| true, &connected, &buckets));
            keys.replace(settings.keys.iter().cloned());
        };
        tracing::info!("listening on http://{address}");
        tokio::select! {
            served = intake.serve(listener, stop) => served?,
            failed = reloading.forever(reload) => match failed? {},
        }
        tracing::info!("the intake has ended");
        Ok(())
    }
}
