//! How many files this process may have open at once: each connection is one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// For all else: Redis, children, logs.
const OTHERS: u64 = 128;

/// How many of so many connections, as `key` sets them, there is room for. Raises the limit of this process, as far as the system lets it.
pub(crate) fn room_for(key: &str, connections: usize) -> usize {
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return connections };
    let raised = wanted.min(hard);
    let limit = if soft < raised && setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft };
    let room = usize::try_from(limit.saturating_sub(OTHERS)).unwrap_or(usize::MAX).max(1);
    if room < connections {
        tracing::warn!(
            "there is room for {room} connections at once, and {key} is {connections}: \
             this process may have {limit} files open (ulimit -Hn, LimitNOFILE=)"
        );
    }
    room.min(connections)
}
