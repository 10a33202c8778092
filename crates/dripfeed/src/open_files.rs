//! The limit of open files: each connection needs one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// For all else: Redis, children, logs.
const OTHERS: u64 = 128;
/// More than any process of ours needs; some systems have no limit.
const MOST: u64 = 1 << 20;

/// Raises the limit of this process as far as the system lets it: concurrency can be raised at run time. Reports when
/// that isn't enough for this many connections, which `key` sets.
pub(crate) fn raise_for(key: &str, connections: usize) {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let most = usize::try_from(hard.min(MOST)).unwrap_or(usize::MAX);
        raise(connections.max(most.saturating_sub(usize::try_from(OTHERS).unwrap_or(0))));
    }
    room_for(key, connections);
}

/// How many of this many connections, as `key` sets them, there is room for. Raises the limit of this process, as far
/// as the system lets it.
pub(crate) fn room_for(key: &str, connections: usize) -> usize {
    let Some(limit) = raise(connections) else { return connections };
    let room = usize::try_from(limit.saturating_sub(OTHERS)).unwrap_or(usize::MAX).max(1);
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

/// The limit that holds then. None: it isn't known.
fn raise(connections: usize) -> Option<u64> {
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let raised = wanted.min(hard);
    let is_raised = soft < raised && setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok();
    Some(if is_raised { raised } else { soft })
}
