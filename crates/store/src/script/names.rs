//! Finds the names of scripts in the slow log.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// The names of the scripts that this process has used, by hash and by the source as the slow log shows it. `None` if
/// two scripts look the same there. Bounded, as the number of scripts is fixed.
static NAMES: Mutex<BTreeMap<String, Option<&'static str>>> = Mutex::new(BTreeMap::new());

/// Returns the name of the script with this hash or this source in the slow log, if this process knows it.
pub(crate) fn named(script: &str) -> Option<&'static str> {
    NAMES.lock().get(script).copied().flatten()
}

pub(super) fn note(name: &'static str, source: &str, sha1: &str) {
    let mut names = NAMES.lock();
    for script in [sha1.to_owned(), in_slow_log(source)] {
        let known = names.entry(script).or_insert(Some(name));
        if *known != Some(name) {
            *known = None;
        }
    }
}

/// The source as the slow log shows it, where Redis truncates arguments and appends the number of missing bytes.
fn in_slow_log(source: &str) -> String {
    const MAX_SHOWN: usize = 128;
    match source.as_bytes().split_at_checked(MAX_SHOWN) {
        Some((start, rest)) if !rest.is_empty() => {
            format!("{}... ({} more bytes)", String::from_utf8_lossy(start), rest.len())
        }
        _ => source.to_owned(),
    }
}
