//! Which script a command on its way to Redis runs: known by the hash, which is learned when the source goes by.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::resp;

/// A script has its verb at its end; it is known by the line that its verb begins with.
const VERBS: [(&str, &str); 14] = [
    ("admit", include_str!("../../../crates/bucket/src/admit.lua")),
    ("beat", include_str!("../../../crates/bucket/src/beat.lua")),
    ("cancel", include_str!("../../../crates/bucket/src/stream_kind/cancel.lua")),
    ("census", include_str!("../../../crates/bucket/src/census.lua")),
    ("find", include_str!("../../../crates/bucket/src/stream_kind/find.lua")),
    ("forget", include_str!("../../../crates/bucket/src/forget.lua")),
    ("join", include_str!("../../../crates/bucket/src/join.lua")),
    ("list", include_str!("../../../crates/bucket/src/stream_kind/list.lua")),
    ("purge", include_str!("../../../crates/bucket/src/stream_kind/purge.lua")),
    ("recover", include_str!("../../../crates/bucket/src/recover.lua")),
    ("replay", include_str!("../../../crates/bucket/src/replay.lua")),
    ("settle", include_str!("../../../crates/bucket/src/settle.lua")),
    ("strays", include_str!("../../../crates/bucket/src/strays.lua")),
    ("take", include_str!("../../../crates/bucket/src/take.lua")),
];

/// One for all proxies: the source goes by once for each server.
static BY_HASH: LazyLock<Mutex<HashMap<Vec<u8>, &'static str>>> = LazyLock::new(Mutex::default);

/// The script that a command runs, if it is one of ours.
pub(crate) fn run_by(command: &[u8]) -> Option<&'static str> {
    let [what, script] = resp::words(command)?;
    let mut by_hash = BY_HASH.lock().unwrap_or_else(PoisonError::into_inner);
    match what {
        b"EVALSHA" => by_hash.get(script).copied(),
        b"EVAL" => {
            let source = std::str::from_utf8(script).ok()?;
            let (name, _) =
                VERBS.iter().find(|(_, verb)| verb.lines().next().is_some_and(|line| source.contains(line)))?;
            by_hash.insert(redis::Script::new(source).get_hash().as_bytes().to_vec(), name);
            Some(name)
        }
        _ => None,
    }
}
