//! The marker that is written after each script, for WAIT.
//!
//! WAIT waits for the last write of its connection. From Redis 7.2 on, a script that writes nothing, because it finds
//! its batch, idempotency key or settlement stored by an earlier call, isn't a write, and what it found may not have
//! reached the replicas yet. Hence a write after it.

use redis::{Cmd, cmd};

use crate::script::Call;

/// The TTL of a marker: a day.
const TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// Returns the key of the marker, in the slot of the keys of `call`.
pub(crate) fn key(prefix: &str, call: &Call<'_>) -> String {
    let first = String::from_utf8_lossy(call.first_key().unwrap_or_default());
    let tag = first.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    match tag {
        Some(tag) => format!("{prefix}:{{{tag}}}:waited"),
        None => format!("{prefix}:waited"),
    }
}

/// Writes the marker if it exists; replies whether it does. PEXPIRE needs no memory, so it works at `maxmemory`.
pub(crate) fn touch(marker: &str) -> Cmd {
    let mut touch = cmd("PEXPIRE");
    touch.arg(marker).arg(TTL_MS);
    touch
}

pub(crate) fn create(marker: &str) -> Cmd {
    let mut create = cmd("SET");
    create.arg(marker).arg(1).arg("PX").arg(TTL_MS);
    create
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn the_mark_is_in_the_slot_of_the_scripts_keys() {
        let script = Script::new("s", &[], "return 1");
        assert_eq!(key("p", &script.on(&["p:{b}:jobs", "p:{b}:pace"])), "p:{b}:waited");
        assert_eq!(key("p", &script.on(&["elsewhere"])), "p:waited");
    }
}
