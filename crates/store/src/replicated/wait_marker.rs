//! A write after each script that is waited for.
//!
//! WAIT waits for the last write of its own connection. From Redis 7.2 on, a script that only found what another one
//! has written counts as no write: a batch, an idempotency key or a settlement that is recognised may not have reached
//! the replicas yet.

use redis::{Cmd, cmd};

use crate::script::Call;

/// How long a mark stays that nobody touches: a day.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// The key of the mark, in the slot of the keys of `call`.
pub(crate) fn of(prefix: &str, call: &Call<'_>) -> String {
    let key = String::from_utf8_lossy(call.first_key().unwrap_or_default());
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    match tag {
        Some(tag) => format!("{prefix}:{{{tag}}}:waited"),
        None => format!("{prefix}:waited"),
    }
}

/// Writes without needing memory, so that it works at `maxmemory`; false when there is no mark.
pub(crate) fn touch(mark: &str) -> Cmd {
    let mut touch = cmd("PEXPIRE");
    touch.arg(mark).arg(KEPT_MS);
    touch
}

pub(crate) fn make(mark: &str) -> Cmd {
    let mut make = cmd("SET");
    make.arg(mark).arg(1).arg("PX").arg(KEPT_MS);
    make
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn the_mark_is_in_the_slot_of_the_scripts_keys() {
        let script = Script::new("s", &[], "return 1");
        assert_eq!(of("p", &script.on(&["p:{b}:jobs", "p:{b}:pace"])), "p:{b}:waited");
        assert_eq!(of("p", &script.on(&["elsewhere"])), "p:waited");
    }
}
