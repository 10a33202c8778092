//! Checks Redis periodically, because its settings may change, and another server may take over. Responses promise the
//! durability class that the latest check found.

use std::time::Duration;

use dripfeed_store::{
    Durability, InstallationError, OpenedInstallation, ServerFinding, ServerInfo, Severity, Store, StoreError,
    open_installation, provided_durability, server_findings,
};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::redis_memory::RedisMemory;
use super::redis_permissions::RedisPermissions;
use crate::background;

const EVERY: Duration = Duration::from_secs(5);

/// Logged by the first process that notices it.
const DATA_LOST: &str = "Redis has lost its data, or was replaced: jobs and outcomes in it are gone; find out why, and \
    restore a backup if there is one";

/// Logged by the first process that notices it.
const WRITES_LOST: &str = "Redis has lost its latest writes, as after a failover or a restart with an older snapshot: \
    jobs accepted since then may be gone, and jobs that ended since then may be called again";

/// The address of a server, and a problem with it.
type ServerProblem = (String, ServerFinding);

/// Logs new problems until `stop`. `known`: those that were logged when the role connected.
pub(super) fn keep(
    store: Store,
    durability: Durability,
    known: Vec<ServerProblem>,
    memory: RedisMemory,
    permissions: RedisPermissions,
    stop: CancellationToken,
) {
    background::spawn_restarting("checking Redis", move || {
        let (store, memory, stop) = (store.clone(), memory.clone(), stop.clone());
        monitor(stop, store, durability, known.clone(), memory, permissions.clone())
    });
}

async fn monitor(
    stop: CancellationToken,
    store: Store,
    durability: Durability,
    mut known: Vec<ServerProblem>,
    memory: RedisMemory,
    mut permissions: RedisPermissions,
) {
    let (mut is_reported, mut seen_ms) = (false, 0);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        // Also writes the keys of the installation to a Redis that was emptied.
        match open_installation(&store, seen_ms).await {
            Err(InstallationError::Store(_)) => {}
            Err(error) if !is_reported => {
                is_reported = true;
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "the data in Redis can't be used any more");
            }
            Err(_) => {}
            Ok(opened) => {
                is_reported = false;
                report_loss(opened, seen_ms, &store);
                seen_ms = opened.seen_ms;
            }
        }
        permissions.check(&store).await;
        // The connection logs that Redis is unreachable.
        let Ok(servers) = servers(&store, durability).await else {
            memory.clear();
            continue;
        };
        memory.show(&servers);
        update_durability(&store, &servers, durability);
        let problems = problems(&servers, durability);
        for (server, finding) in problems.iter().filter(|problem| !known.contains(problem)) {
            log(server, finding);
        }
        known = problems;
    }
}

/// `redis`: the server's address.
pub(super) fn log(redis: &str, ServerFinding { severity, what, what_to_do }: &ServerFinding) {
    match severity {
        Severity::Error => tracing::error!(redis, what, what_to_do, "this Redis can't be used"),
        Severity::Warning => tracing::warn!(redis, what, what_to_do, "this Redis needs attention"),
    }
}

/// Logs if Redis has lost data. `seen_ms`: of the last check that this process saw, by any process.
fn report_loss(opened: OpenedInstallation, seen_ms: u64, store: &Store) {
    let prefix = store.prefix();
    if opened.is_emptied {
        tracing::error!(prefix, "{DATA_LOST}");
        return;
    }
    let Some(ms) = opened.rolled_back_to_ms else { return };
    // Redis replicas confirm jobs, but not the time of a check: after a failover it may be all that is missing.
    let may_lack_check_only = store.durability() == Durability::Replicated;
    if may_lack_check_only && Duration::from_millis(seen_ms.saturating_sub(ms)) < 2 * EVERY {
        return;
    }
    let since = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    tracing::error!(prefix, since = since.map(tracing::field::display), "{WRITES_LOST}");
}

/// Returns the masters, with their current properties.
pub(super) async fn servers(store: &Store, durability: Durability) -> Result<Vec<(Store, ServerInfo)>, StoreError> {
    let mut servers = Vec::new();
    for server in store.masters() {
        let info = ServerInfo::gather(&server, durability).await?;
        servers.push((server, info));
    }
    Ok(servers)
}

/// Lets responses promise the lowest durability class of all servers, and never more than is configured.
fn update_durability(store: &Store, servers: &[(Store, ServerInfo)], configured: Durability) {
    let classes = servers.iter().map(|(_, info)| provided_durability(configured, info));
    let Some(class) = classes.min() else { return };
    let before = store.durability();
    if before != class {
        tracing::warn!(%before, now = %class, "the settings of Redis changed, and with them the durability of accepted \
            jobs");
        store.set_durability(class);
    }
}

/// Returns the problems of all servers.
pub(super) fn problems(servers: &[(Store, ServerInfo)], durability: Durability) -> Vec<ServerProblem> {
    let problems = |(server, info): &(Store, ServerInfo)| {
        let address = server.address().to_string();
        server_findings(info, durability).into_iter().map(move |finding| (address.clone(), finding))
    };
    servers.iter().flat_map(problems).collect()
}
