//! The names of the scripts in the slow log.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// By hash, and by source as the slow log has it: the scripts that this process has used, of a fixed number. None: two
/// look the same there.
static NAMES: Mutex<BTreeMap<String, Option<&'static str>>> = Mutex::new(BTreeMap::new());

/// The name of the script with this hash, or this source in the slow log, where this process knows it.
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

/// Redis cuts longer arguments there, and says by how much.
fn in_slow_log(source: &str) -> String {
    const LONGEST: usize = 128;
    match source.as_bytes().split_at_checked(LONGEST) {
        Some((start, rest)) if !rest.is_empty() => {
            format!("{}... ({} more bytes)", String::from_utf8_lossy(start), rest.len())
        }
        _ => source.to_owned(),
    }
}
