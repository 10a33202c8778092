//! Connects a role to Redis at its start: waits until Redis is reachable, then checks it.

use std::time::{Duration, Instant};

use dripfeed_bucket::{BucketPlace, denied_at};
use dripfeed_store::{
    Durability, InstallationError, RedisSettings, ServerInfo, Severity, Store, StoreError, effective_durability,
    open_installation, server_findings,
};
use tokio_util::sync::CancellationToken;

use super::redis_memory::RedisMemory;
use super::redis_monitor::{self, servers};
use super::redis_permissions::RedisPermissions;
use crate::background;
use crate::exit::{Exit, Failure};
use crate::permissions;

/// How long to wait for Redis, which may be started after the role.
const PATIENCE: Duration = Duration::from_secs(30);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Redis, and its properties.
#[derive(Clone)]
pub(crate) struct Connected {
    pub(crate) store: Store,
    /// The durability class that a 202 may promise.
    pub(crate) durability: Durability,
    pub(crate) memory: RedisMemory,
    /// `maxmemory` of each master at the start.
    pub(crate) max_memory: Vec<u64>,
    masters: Vec<Master>,
}

/// A master, as it was found at the start.
#[derive(Clone)]
struct Master {
    redis: String,
    product: String,
    durability: Durability,
}

/// Returns `None` if the role was asked to stop before Redis was reachable. `places`: of the buckets that the role
/// works with.
///
/// # Errors
/// When Redis stays unreachable, denies access or a command that the buckets need, or can't keep jobs as configured.
pub(crate) async fn to_redis(
    settings: &RedisSettings,
    places: &[BucketPlace],
    stop: &CancellationToken,
) -> Result<Option<Connected>, Failure> {
    let (begun, mut last_logged) = (Instant::now(), None);
    let Probe { store, servers, denied } = loop {
        match probe(settings, places).await {
            Ok(probe) => break probe,
            Err(error) if error.is_transient() && begun.elapsed() < PATIENCE => log_retry(&error, &mut last_logged),
            Err(error) => return Err(error.into()),
        }
        if is_stopped_before_retry(stop).await {
            return Ok(None);
        }
    };
    // Before the permissions, so that an unsuitable server is reported as such.
    let masters = checked(&servers, settings.durability)?;
    let durability = lowest(&masters, settings.durability);
    // Without a permission that this version needs, the role would become ready, and fail at the first job.
    if let Some(denials) = denials(denied.as_deref(), &store) {
        return Err(Failure::new(Exit::NotAllowed, denials));
    }
    loop {
        match open_installation(&store, 0).await {
            Ok(_) => break,
            Err(InstallationError::Store(error)) if error.is_transient() && begun.elapsed() < PATIENCE => {
                log_retry(&error, &mut last_logged);
            }
            Err(error) => return Err(error.into()),
        }
        if is_stopped_before_retry(stop).await {
            return Ok(None);
        }
    }
    store.set_durability(durability);
    let known = redis_monitor::problems(&servers, settings.durability);
    let memory = RedisMemory::default();
    memory.show(&servers);
    let max_memory = servers.iter().map(|(_, info)| info.max_memory).collect();
    let permissions = RedisPermissions::new(places, settings.durability, denied);
    redis_monitor::keep(store.clone(), settings.durability, known, memory.clone(), permissions, stop.clone());
    Ok(Some(Connected { store, durability, memory, max_memory, masters }))
}

/// Waits before a retry. Returns `true` as soon as the role is asked to stop.
async fn is_stopped_before_retry(stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(RETRY_INTERVAL) => false,
    }
}

/// The result of connecting to Redis.
struct Probe {
    store: Store,
    /// The masters.
    servers: Vec<(Store, ServerInfo)>,
    /// What the ACL denies, as error texts of Redis. `None` if Redis doesn't let us check.
    denied: Option<Vec<String>>,
}

async fn probe(settings: &RedisSettings, places: &[BucketPlace]) -> Result<Probe, StoreError> {
    let store = Store::open(settings).await?;
    let servers = servers(&store, settings.durability);
    let denied = denied_at(&store, places, settings.durability);
    // Concurrently, to save round trips.
    let ((), servers, denied) = tokio::try_join!(store.ping(), servers, denied)?;
    Ok(Probe { store, servers, denied })
}

impl Connected {
    pub(crate) fn log(&self) {
        for Master { redis, product, durability } in &self.masters {
            tracing::info!(%redis, %product, %durability, "connected to Redis");
        }
    }

    /// Logs what the ACL of Redis denies for the buckets of reloaded settings. The settings are in force in any case,
    /// because they may revoke a key.
    pub(crate) fn report_denials(&self, places: Vec<BucketPlace>) {
        let (store, durability) = (self.store.clone(), self.durability);
        background::spawn(async move {
            // The connection logs that Redis is unreachable.
            let Ok(denied) = denied_at(&store, &places, durability).await else { return };
            if let Some(denials) = denials(denied.as_deref(), &store) {
                tracing::error!(denials, "not every bucket of the reloaded settings can be served");
            }
        });
    }
}

/// Returns the report of denials without which a role can't work. Logs all others.
fn denials(denied: Option<&[String]>, store: &Store) -> Option<String> {
    match denied {
        Some([]) => None,
        Some(denied) if permissions::are_dispensable(denied) => {
            permissions::log(denied, store.prefix());
            None
        }
        Some(denied) => Some(permissions::report(denied, store.prefix())),
        None => {
            tracing::info!("{}", permissions::UNASKED);
            None
        }
    }
}

/// Logs the error, at most once per `LOG_INTERVAL`.
fn log_retry(error: &StoreError, last_logged: &mut Option<Instant>) {
    if last_logged.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
        *last_logged = Some(Instant::now());
        let error: &dyn std::error::Error = error;
        tracing::warn!(error, "can't connect to Redis yet; retrying for up to {} s", PATIENCE.as_secs());
    }
}

fn checked(servers: &[(Store, ServerInfo)], configured: Durability) -> Result<Vec<Master>, Failure> {
    servers.iter().map(|(server, info)| check_server(server, info, configured)).collect()
}

/// The lowest durability class of all masters: any class below the configured one is `process`.
fn lowest(masters: &[Master], configured: Durability) -> Durability {
    let lower = masters.iter().map(|master| master.durability).find(|durability| *durability != configured);
    lower.unwrap_or(configured)
}

fn check_server(server: &Store, info: &ServerInfo, configured: Durability) -> Result<Master, Failure> {
    let mut errors = Vec::new();
    for finding in server_findings(info, configured) {
        match finding.severity {
            Severity::Error => errors.push(format!("\n  {}: {}", finding.what, finding.what_to_do)),
            Severity::Warning => redis_monitor::log(&server.address().to_string(), &finding),
        }
    }
    if !errors.is_empty() {
        let message =
            format!("{} at {} can't be used as configured:{}", info.product, server.address(), errors.concat());
        return Err(Failure::new(Exit::Configuration, message));
    }
    let effective =
        effective_durability(configured, info).map_err(|shortfall| Failure::of(Exit::Configuration, shortfall))?;
    let (redis, product) = (server.address().to_string(), info.product.to_string());
    Ok(Master { redis, product, durability: effective.class })
}
