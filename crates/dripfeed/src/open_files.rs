//! Raises the limit of open files, as each connection needs one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files besides the counted connections: Redis, child processes, logs.
const RESERVED: u64 = 128;
/// More than any dripfeed process needs. Some systems have no hard limit.
const MAX: u64 = 1 << 20;

/// Raises the limit of this process as far as possible, because concurrency can be raised at run time. Logs a warning
/// if it stays too low for `connections`, which the setting `key` determines.
pub(crate) fn raise_for(key: &str, connections: usize) {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let max = usize::try_from(hard.min(MAX)).unwrap_or(usize::MAX);
        raise(connections.max(max.saturating_sub(usize::try_from(RESERVED).unwrap_or(0))));
    }
    room_for(key, connections);
}

/// Raises the limit of this process for `connections`, which the setting `key` determines. Returns the number of
/// connections that are possible, and logs a warning if they are fewer.
pub(crate) fn room_for(key: &str, connections: usize) -> usize {
    let Some(limit) = raise(connections) else { return connections };
    let room = usize::try_from(limit.saturating_sub(RESERVED)).unwrap_or(usize::MAX).max(1);
    if room < connections {
        tracing::warn!(
            setting = key,
            connections,
            limit,
            room,
            "the limit of open files allows fewer connections than are set; raise it (ulimit -Hn, LimitNOFILE=)"
        );
    }
    room.min(connections)
}

/// Returns the limit that is now in force, or `None` if it can't be read.
fn raise(connections: usize) -> Option<u64> {
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(RESERVED);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let raised = wanted.min(hard);
    let is_raised = soft < raised && setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok();
    Some(if is_raised { raised } else { soft })
}
