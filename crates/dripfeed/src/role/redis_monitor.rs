//! Checks Redis periodically: its settings may change, and another server may take over. Answers name the durability
//! class that was found last.

use std::time::Duration;

use dripfeed_store::{
    Durability, InstallationError, OpenedInstallation, ServerFinding, ServerInfo, Severity, Store, StoreError,
    findings, given, open_installation,
};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::redis_memory::RedisMemory;
use super::redis_permissions::RedisPermissions;
use crate::background;

const EVERY: Duration = Duration::from_secs(5);

/// One process reports it: the first that looks.
const DATA_LOST: &str = "Redis has lost its data, or was replaced: jobs and outcomes in it are gone; find out why, and \
    restore a backup if there is one";

/// As above.
const WRITES_LOST: &str = "Redis has lost its latest writes, as after a failover or a restart with an older snapshot: \
    jobs accepted since then may be gone, and jobs that ended since then may be called again";

/// What is wrong with a server, by its address.
type ServerProblem = (String, ServerFinding);

/// Reports what is wrong and wasn't before, until `stop`. Who connects has reported `known`.
pub(super) fn keep(
    store: Store,
    durability: Durability,
    known: Vec<ServerProblem>,
    memory: RedisMemory,
    permissions: RedisPermissions,
    stop: CancellationToken,
) {
    background::keep("checking Redis", move || {
        let (store, memory, stop) = (store.clone(), memory.clone(), stop.clone());
        look_until(stop, store, durability, known.clone(), memory, permissions.clone())
    });
}

async fn look_until(
    stop: CancellationToken,
    store: Store,
    durability: Durability,
    mut known: Vec<ServerProblem>,
    memory: RedisMemory,
    mut permissions: RedisPermissions,
) {
    let (mut newer, mut seen_ms) = (false, 0);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        // An emptied Redis gets back what it had of the installation.
        match open_installation(&store, seen_ms).await {
            Err(InstallationError::Store(_)) => {}
            Err(error) if !newer => {
                newer = true;
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "the data in Redis can't be used any more");
            }
            Err(_) => newer = true,
            Ok(opened) => {
                newer = false;
                report(opened, seen_ms, &store);
                seen_ms = opened.seen_ms;
            }
        }
        permissions.look(&store).await;
        // That Redis is away is reported by those who need it.
        let Ok(servers) = servers(&store, durability).await else {
            memory.clear();
            continue;
        };
        memory.show(&servers);
        follow(&store, &servers, durability);
        let wrong = wrong(&servers, durability);
        for (server, finding) in wrong.iter().filter(|wrong| !known.contains(wrong)) {
            log(server, finding);
        }
        known = wrong;
    }
}

/// `redis`: the server's address.
pub(super) fn log(redis: &str, ServerFinding { severity, what, what_to_do }: &ServerFinding) {
    match severity {
        Severity::Error => tracing::error!(redis, what, what_to_do, "this Redis can't be used"),
        Severity::Warning => tracing::warn!(redis, what, what_to_do, "this Redis needs attention"),
    }
}

fn report(opened: OpenedInstallation, seen_ms: u64, store: &Store) {
    let prefix = store.prefix();
    if opened.is_emptied {
        tracing::error!(prefix, "{DATA_LOST}");
        return;
    }
    let Some(ms) = opened.rolled_back_to_ms else { return };
    // Replicas confirm jobs, and not the time of a look at Redis: that alone may be missing after a failover.
    let may_be_the_look = store.durability() == Durability::Replicated;
    if may_be_the_look && Duration::from_millis(seen_ms.saturating_sub(ms)) < 2 * EVERY {
        return;
    }
    let since = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    tracing::error!(prefix, since = since.map(tracing::field::display), "{WRITES_LOST}");
}

/// Each server that takes writes, as it is now.
pub(super) async fn servers(store: &Store, durability: Durability) -> Result<Vec<(Store, ServerInfo)>, StoreError> {
    let mut servers = Vec::new();
    for server in store.masters() {
        let facts = ServerInfo::gather(&server, durability).await?;
        servers.push((server, facts));
    }
    Ok(servers)
}

/// Answers name what all servers give now: less than is configured as soon as that is known, and never more.
fn follow(store: &Store, servers: &[(Store, ServerInfo)], configured: Durability) {
    let classes = servers.iter().map(|(_, facts)| given(configured, facts));
    let Some(class) = classes.min() else { return };
    let before = store.durability();
    if before != class {
        tracing::warn!(%before, now = %class, "the settings of Redis changed, and with them the durability of accepted \
            jobs");
        store.gives(class);
    }
}

/// What is wrong with each of them.
pub(super) fn wrong(servers: &[(Store, ServerInfo)], durability: Durability) -> Vec<ServerProblem> {
    let of = |(server, facts): &(Store, ServerInfo)| {
        let address = server.address().to_string();
        findings(facts, durability).into_iter().map(move |finding| (address.clone(), finding))
    };
    servers.iter().flat_map(of).collect()
}
