//! Connects to Redis at the start of a role: waits for it, then checks it.

use std::time::{Duration, Instant};

use dripfeed_bucket::{BucketPlace, denied_at};
use dripfeed_store::{
    Durability, InstallationError, RedisSettings, ServerInfo, Severity, Store, StoreError, effective, findings,
    open_installation,
};
use tokio_util::sync::CancellationToken;

use super::redis_memory::RedisMemory;
use super::redis_monitor::{self, servers};
use super::redis_permissions::RedisPermissions;
use crate::background;
use crate::exit::{Exit, Failure};
use crate::permissions;

/// Services are started in any order: Redis may come after us.
const PATIENCE: Duration = Duration::from_secs(30);
const BETWEEN_TRIES: Duration = Duration::from_millis(500);
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Redis, and what it gives.
#[derive(Clone)]
pub(crate) struct Connected {
    pub(crate) store: Store,
    /// The class that a 202 may name.
    pub(crate) durability: Durability,
    pub(crate) memory: RedisMemory,
    /// `maxmemory` of each server that takes writes, as it was at the start.
    pub(crate) max_memory: Vec<u64>,
}

/// None: asked to stop before Redis was there. `places`: of the buckets that the role works with.
///
/// # Errors
/// When it stays away, denies access or a command that these need, or can't keep jobs as configured.
pub(crate) async fn to_redis(
    settings: &RedisSettings,
    places: &[BucketPlace],
    stop: &CancellationToken,
) -> Result<Option<Connected>, Failure> {
    let (begun, mut last_logged) = (Instant::now(), None);
    let Reached { store, servers, denied } = loop {
        match reach(settings, places).await {
            Ok(reached) => break reached,
            Err(error) if error.is_transient() && begun.elapsed() < PATIENCE => log_retry(&error, &mut last_logged),
            Err(error) => return Err(error.into()),
        }
        if is_asked_to_stop(stop).await {
            return Ok(None);
        }
    };
    // First, so that a server that can't be used is named for what it is.
    let durability = durability_of(&servers, settings.durability)?;
    // A role that may not call what this version calls would be ready, and fail at the first job.
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
        if is_asked_to_stop(stop).await {
            return Ok(None);
        }
    }
    store.gives(durability);
    let known = redis_monitor::wrong(&servers, settings.durability);
    let memory = RedisMemory::default();
    memory.show(&servers);
    let max_memory = servers.iter().map(|(_, facts)| facts.max_memory).collect();
    let permissions = RedisPermissions::new(places, settings.durability, denied);
    redis_monitor::keep(store.clone(), settings.durability, known, memory.clone(), permissions, stop.clone());
    Ok(Some(Connected { store, durability, memory, max_memory }))
}

/// After a pause, or as soon as it is.
async fn is_asked_to_stop(stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(BETWEEN_TRIES) => false,
    }
}

/// Redis as it was found.
struct Reached {
    store: Store,
    /// Each server that takes writes.
    servers: Vec<(Store, ServerInfo)>,
    /// What the ACL denies, in the words of Redis. None: that can't be asked.
    denied: Option<Vec<String>>,
}

async fn reach(settings: &RedisSettings, places: &[BucketPlace]) -> Result<Reached, StoreError> {
    let store = Store::open(settings).await?;
    let servers = servers(&store, settings.durability);
    let denied = denied_at(&store, places, settings.durability);
    // In one round trip, as far as one doesn't need the answer to the other.
    let ((), servers, denied) = tokio::try_join!(store.ping(), servers, denied)?;
    Ok(Reached { store, servers, denied })
}

impl Connected {
    /// Reports what the ACL of Redis denies at the places of settings that were read again. They are in force in any
    /// case, because they may revoke a key.
    pub(crate) fn report_denials(&self, places: Vec<BucketPlace>) {
        let (store, durability) = (self.store.clone(), self.durability);
        background::spawn(async move {
            // That Redis is away is reported by those who need it.
            let Ok(denied) = denied_at(&store, &places, durability).await else { return };
            if let Some(denials) = denials(denied.as_deref(), &store) {
                tracing::error!(denials, "not every bucket of the reloaded settings can be served");
            }
        });
    }
}

/// What a role can't do without. All else is logged.
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

/// Periodically.
fn log_retry(error: &StoreError, last_logged: &mut Option<Instant>) {
    if last_logged.is_none_or(|at| at.elapsed() >= BETWEEN_LINES) {
        *last_logged = Some(Instant::now());
        let error: &dyn std::error::Error = error;
        tracing::warn!(error, "can't connect to Redis yet; retrying for up to {} s", PATIENCE.as_secs());
    }
}

/// Of all servers that take writes: the lowest class that one of them gives.
fn durability_of(servers: &[(Store, ServerInfo)], configured: Durability) -> Result<Durability, Failure> {
    let mut given = configured;
    for (server, facts) in servers {
        let class = look_at(server, facts, configured)?;
        // The classes below the configured one are reported as `process` alone.
        if class != configured {
            given = class;
        }
    }
    Ok(given)
}

fn look_at(server: &Store, facts: &ServerInfo, configured: Durability) -> Result<Durability, Failure> {
    let mut errors = Vec::new();
    for finding in findings(facts, configured) {
        match finding.severity {
            Severity::Error => errors.push(format!("\n  {}: {}", finding.what, finding.what_to_do)),
            Severity::Warning => redis_monitor::log(&server.address().to_string(), &finding),
        }
    }
    if !errors.is_empty() {
        let message =
            format!("{} at {} can't be used as configured:{}", facts.product, server.address(), errors.concat());
        return Err(Failure::new(Exit::Configuration, message));
    }
    let effective = effective(configured, facts).map_err(|shortfall| Failure::of(Exit::Configuration, shortfall))?;
    let (redis, product) = (server.address(), &facts.product);
    tracing::info!(%redis, %product, durability = %effective.class, "connected to Redis");
    Ok(effective.class)
}
