//! `dripfeed intake`: accepts jobs over HTTP.

mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use dripfeed_auth::ApiKeys;
use dripfeed_bucket::{Bucket, Buckets};
use dripfeed_grpc::GrpcSettings;
use dripfeed_http::{Health, Listener, Tls};
use dripfeed_intake::metrics::{BucketGauges, IntakeMetrics, LimitMetrics, MetricsExporter};
use dripfeed_intake::{EntryPoint, Intake, RedisServers, probes, submit_scheduled};
use dripfeed_job::BucketName;
use dripfeed_job::redaction::Redaction;
use dripfeed_limit::Services;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;

use self::routes::Routes;
use super::connect::{self, Connected};
use super::defined::{AllDefined, DefinedBucket, DefinedBuckets, ServeDefinedBuckets};
use super::grpc::Grpc;
use super::reload::{Refused, Reloading};
use super::served::ServedBuckets;
use super::settings_metrics::SettingsMetrics;
use super::{Arguments, HEALTH_LIMITS, after_start, buckets, exposure, history, listen, outcomes, replays, retention};
use crate::exit::Failure;
use crate::memory;
use crate::open_files;
use crate::service_manager;
use crate::settings::{DashboardPlace, Layers, Settings};
use crate::start_memory;
use crate::telemetry::{Log, Traces};

/// Runs until SIGTERM.
///
/// # Errors
/// When it can't start, or its listener fails.
pub(crate) async fn run(arguments: Arguments, layers: Layers) -> Result<(), Failure> {
    let (settings, checksum) = Settings::load_with_checksum(&layers)?;
    let log = Log::start(&settings.log);
    let stop = arguments.stop()?;
    warn_of_certificate(&settings);
    let reloading = Reloading::new(layers, settings, checksum, log)?;
    let Some((role, ports)) = IntakeRole::open(&reloading.settings, &reloading.metrics, &stop).await? else {
        return Ok(());
    };
    service_manager::ready(stop.clone());
    start_memory::end_later();
    memory::warn(&reloading.settings, &role.connected.max_memory);
    tokio::select! {
        result = role.serve(ports, stop) => result,
        never = reloading.forever(|settings| role.reload(settings)) => match never {},
    }
}

fn warn_of_certificate(settings: &Settings) {
    if let Some(why) = settings.expiring_certificate() {
        tracing::warn!(why, "the certificate of the intake has to be renewed");
    }
}

/// A running intake, and what it works with.
pub(crate) struct IntakeRole {
    connected: Connected,
    served: ServedBuckets,
    defined: DefinedBuckets,
    keys: Arc<ApiKeys>,
    buckets: Arc<Buckets>,
    services: Services,
    /// `None` for HTTP without TLS.
    tls: Option<Tls>,
    intake: Intake,
    exporter: MetricsExporter,
    grpc: GrpcSettings,
    dashboard: DashboardPlace,
    redaction: Redaction,
    traces: Traces,
    /// Routes of the playground, only in `dripfeed dev`.
    playground: Option<Router>,
    /// An address that other machines can reach, or `None` if all ports are on loopback.
    public_address: Option<SocketAddr>,
}

/// The bound listeners. `None` for a port that is off.
pub(crate) struct Ports {
    pub(crate) http: TcpListener,
    grpc: Option<Grpc>,
    metrics: Option<TcpListener>,
    /// Also `None` if the dashboard is on the port of the API.
    dashboard: Option<TcpListener>,
}

impl Ports {
    /// Returns the address of the dashboard, or `None` if it is off.
    ///
    /// # Errors
    /// When the system doesn't return the address.
    pub(crate) fn page(&self, place: DashboardPlace) -> io::Result<Option<SocketAddr>> {
        match place {
            DashboardPlace::Intake => self.http.local_addr().map(Some),
            DashboardPlace::Apart(_) => self.dashboard.as_ref().map(TcpListener::local_addr).transpose(),
            DashboardPlace::Off => Ok(None),
        }
    }
}

impl IntakeRole {
    /// Connects to Redis and binds the ports. Returns `None` if the role was asked to stop before Redis was reachable.
    ///
    /// # Errors
    /// When Redis can't be used or a port can't be bound.
    pub(crate) async fn open(
        settings: &Settings,
        settings_metrics: &SettingsMetrics,
        stop: &CancellationToken,
    ) -> Result<Option<(Self, Ports)>, Failure> {
        let places = buckets::places(settings, |_| true);
        let Some(connected) = connect::to_redis(&settings.redis, &places, stop).await? else { return Ok(None) };
        let opened = Self::open_over(connected.clone(), settings, settings_metrics, stop).await;
        if opened.is_err() {
            // Without this it would log that Redis is unreachable while `dev` stops its private Redis.
            connected.store.close();
        }
        opened.map(Some)
    }

    async fn open_over(
        connected: Connected,
        settings: &Settings,
        settings_metrics: &SettingsMetrics,
        stop: &CancellationToken,
    ) -> Result<(Self, Ports), Failure> {
        let buckets = Arc::new(Buckets::default());
        buckets.replace(buckets::configured(settings, |_| true, &connected, &buckets));
        let keys = Arc::new(ApiKeys::new(settings.keys.iter().cloned()).with_registry(connected.store.clone()));
        let ((), services) = tokio::join!(keys.follow_or_log(), Services::open(connected.store.clone()));
        let mut registry = super::registry();
        let by_bucket = settings.intake.histograms_by_bucket;
        let metrics = IntakeMetrics::register(Arc::clone(&buckets), &mut registry, by_bucket);
        let gauges = BucketGauges::register(Arc::clone(&buckets), &mut registry);
        LimitMetrics::register(services.clone(), &mut registry);
        connected.memory.register(&mut registry);
        settings_metrics.register(&mut registry);
        let served = ServedBuckets::register(settings, &mut registry);
        let exporter = MetricsExporter::new(Health::new(connected.store.clone()), gauges, Arc::new(registry));
        let mut intake_settings = settings.intake.settings.clone();
        let max_connections = intake_settings.max_connections;
        intake_settings.max_connections = open_files::room_for("intake.max_connections", max_connections);
        let intake = Intake::new(
            intake_settings,
            Arc::clone(&keys),
            Arc::clone(&buckets),
            services.clone(),
            metrics,
            exporter.clone(),
            RedisServers::new(connected.store.clone(), settings.redis.durability),
        );
        let traces = Traces::start(settings.trace.as_ref(), "intake")?;
        let intake = intake.traced(traces.tracer());
        let defined = DefinedBuckets::new(connected.store.clone(), settings);
        intake.follow(Arc::new(defined.clone()));
        let serving = IntakeBuckets {
            connected: connected.clone(),
            served: served.clone(),
            buckets: Arc::clone(&buckets),
            intake: intake.clone(),
        };
        defined.serve_with(serving).await;
        served.keep_watching(&connected.store, stop);
        let tls = settings.intake.tls.clone().map(Tls::new);
        let http = listen("intake.listen", settings.intake.listen).await?;
        let grpc = match settings.grpc {
            Some(port) => Some(Grpc::open(port, &settings.intake, tls.clone()).await?),
            None => None,
        };
        let metrics = match settings.intake.metrics_listen {
            Some(address) => Some(listen("intake.metrics_listen", address).await?),
            None => None,
        };
        let dashboard = match settings.intake.dashboard {
            DashboardPlace::Apart(address) => Some(listen("intake.dashboard", address).await?),
            DashboardPlace::Intake | DashboardPlace::Off => None,
        };
        let page = dashboard.as_ref().map(TcpListener::local_addr).transpose()?;
        let bound = [Some(http.local_addr()?), grpc.as_ref().map(Grpc::address).transpose()?, page];
        let public_address = bound.into_iter().flatten().find(|address| !address.ip().is_loopback());
        exposure::warn(public_address, !settings.keys.is_empty());
        let ports = Ports { http, grpc, metrics, dashboard };
        let grpc = super::grpc::settings(&settings.intake);
        Ok((
            Self {
                connected,
                served,
                defined,
                keys,
                buckets,
                services,
                tls,
                intake,
                exporter,
                grpc,
                dashboard: settings.intake.dashboard,
                redaction: settings.intake.settings.redaction.clone(),
                traces,
                playground: None,
                public_address,
            },
            ports,
        ))
    }

    /// Serves until `stop`, then drains.
    ///
    /// # Errors
    /// When a listener fails.
    pub(crate) async fn serve(&self, ports: Ports, stop: CancellationToken) -> Result<(), Failure> {
        // Only now, as `dev` prints its address first.
        self.connected.log();
        let address = ports.http.local_addr()?;
        tracing::info!("listening on {}://{address}", self.scheme());
        let listener = Listener::new(ports.http, self.tls.clone());
        let http = async {
            let routes = self.routes(address);
            let front = EntryPoint::new(self.intake.clone(), move || routes.all());
            Ok(self.intake.serve_with(listener, front, stop.clone()).await?)
        };
        // The other ports begin to drain when the API does.
        let draining = self.exporter.health().draining();
        let grpc = async {
            match ports.grpc {
                Some(grpc) => grpc.serve(self.grpc_calls(), draining.clone()).await,
                None => Ok(()),
            }
        };
        let metrics = async {
            match ports.metrics {
                Some(listener) => self.serve_metrics(listener, draining.clone()).await,
                None => Ok(()),
            }
        };
        let dashboard = async {
            match ports.dashboard {
                Some(listener) => self.serve_dashboard(listener, address, draining.clone()).await,
                None => Ok(()),
            }
        };
        let result = tokio::select! {
            result = async { tokio::try_join!(http, grpc, metrics, dashboard) } => result,
            never = retention::keep(&self.buckets, self.intake.metrics()) => match never {},
            never = after_start(outcomes::hand_over(&self.buckets)) => match never {},
            never = replays::keep_resuming(&self.buckets, self.intake.metrics()) => match never {},
            never = after_start(history::keep(&self.buckets)) => match never {},
            never = self.intake.metrics().keep_sharing_refusals() => match never {},
            never = self.exporter.keep_fresh() => match never {},
            never = after_start(submit_scheduled(&self.intake)) => match never {},
            never = self.defined.keep_following() => match never {},
            never = self.keys.keep_following() => match never {},
        };
        self.services.close().await;
        self.connected.store.close();
        self.traces.end().await;
        result?;
        tracing::info!("the intake has stopped");
        Ok(())
    }

    /// Adds the routes of the playground, and shows its buttons on the dashboard.
    pub(crate) fn add_playground(&mut self, routes: impl FnOnce(Intake) -> Router, description: OpenApi) {
        self.intake.describe(description);
        self.playground = Some(routes(self.intake.clone()));
    }

    fn routes(&self, address: SocketAddr) -> Routes {
        Routes {
            intake: self.intake.clone(),
            address,
            place: self.dashboard,
            salt: self.connected.store.salt().clone(),
            has_tls: self.tls.is_some(),
            redaction: self.redaction.clone(),
            playground: self.playground.clone(),
        }
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    async fn serve_dashboard(
        &self,
        listener: TcpListener,
        api: SocketAddr,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        tracing::info!("dashboard on {}://{}", self.scheme(), listener.local_addr()?);
        let listener = Listener::new(listener, self.tls.clone());
        Ok(self.intake.serve_with(listener, self.routes(api).apart(), stop).await?)
    }

    async fn serve_metrics(&self, listener: TcpListener, stop: CancellationToken) -> Result<(), Failure> {
        tracing::info!("metrics, without a key, on http://{}", listener.local_addr()?);
        Ok(dripfeed_http::serve(listener, probes::router(self.exporter.clone()), HEALTH_LIMITS, stop).await?)
    }

    fn grpc_calls(&self) -> Router {
        dripfeed_grpc::router(
            self.services.clone(),
            Arc::clone(&self.buckets),
            Arc::new(self.defined.clone()),
            Arc::clone(&self.keys),
            self.grpc.clone(),
            self.exporter.health().draining().clone(),
        )
    }

    fn reload(&self, settings: &Settings) -> Result<(), Refused> {
        self.refuse_to_open(settings)?;
        let before = self.buckets.all();
        self.defined.reload(settings, |all| {
            let defined = all.served.values().map(|defined| buckets::defined(defined, &self.connected, &self.buckets));
            let configured = buckets::configured(settings, |_| true, &self.connected, &self.buckets);
            self.buckets.replace(configured.into_iter().chain(defined));
            self.served.define(all);
        });
        for removed in before.keys().filter(|bucket| self.buckets.get(bucket.as_str()).is_none()) {
            self.intake.metrics().forget(removed);
        }
        self.served.replace(settings);
        self.keys.replace(settings.keys.iter().cloned());
        if let (Some(tls), Some(identity)) = (&self.tls, &settings.intake.tls) {
            tls.replace(identity.clone());
            warn_of_certificate(settings);
        }
        self.connected.report_denials(buckets::places(settings, |_| true));
        Ok(())
    }

    /// Refuses a reload that removes the last API key, unless `--insecure-no-auth` is set. Also on loopback, because a
    /// proxy may forward requests of others, and the file may be half written. The addresses are those of the start,
    /// which a reload doesn't change.
    fn refuse_to_open(&self, settings: &Settings) -> Result<(), Refused> {
        if !settings.keys.is_empty() || settings.anyone_may_call || self.keys.is_empty() {
            return Ok(());
        }
        let restart = match self.public_address {
            Some(address) => format!("{address} is not a loopback address: add a key, or restart on 127.0.0.1"),
            None => "this intake has had some: add a key, or restart to let anyone do everything".to_owned(),
        };
        Err(Refused(format!("no [[keys]] are configured, and {restart}")))
    }
}

/// Applies changes of definitions to the buckets of an intake.
struct IntakeBuckets {
    connected: Connected,
    served: ServedBuckets,
    buckets: Arc<Buckets>,
    intake: Intake,
}

impl ServeDefinedBuckets for IntakeBuckets {
    fn change(&self, changed: &[Arc<DefinedBucket>], gone: &[BucketName], all: &AllDefined) {
        let changed = changed.iter().map(|defined| buckets::defined(defined, &self.connected, &self.buckets));
        let changed: Vec<Bucket> = changed.collect();
        let is_created_again = |bucket: &&Bucket| {
            let before = self.buckets.get(bucket.name().as_str());
            before.is_some_and(|before| before.incarnation() != bucket.incarnation())
        };
        let created_again: Vec<&BucketName> = changed.iter().filter(is_created_again).map(Bucket::name).collect();
        self.buckets.change(&changed, gone);
        gone.iter().chain(created_again).for_each(|bucket| self.intake.metrics().forget(bucket));
        self.served.define(all);
    }
}
