//! Every name that users, other programs and operators rely on. A change of one fails here, and belongs into
//! CHANGELOG.md.
//!
//! `UPDATE_NAMES=1 cargo test --workspace --test it contract` writes them to `names/`.

/// Commands and their options.
mod commands;
/// Paths, parameters, members and codes of the HTTP API.
mod http;
/// Families of metrics and their labels.
mod metrics;
/// Keys in Redis, and fields of hashes.
mod redis;
/// Settings.
mod settings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A name on each line.
type Names = BTreeSet<String>;

/// Marks a name that isn't there in each run: it follows from a fault.
const RARE: &str = " (rare)";

fn updating() -> bool {
    std::env::var_os("UPDATE_NAMES").is_some()
}

/// Compares with `names/FILE.txt`, or writes that.
fn check(file: &str, seen: &Names) {
    if updating() {
        let rare = known(file).into_iter().filter(|name| name.ends_with(RARE));
        let names: Names = rare.chain(seen.iter().cloned()).collect();
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        return std::fs::write(path(file), lines).expect("names can be written");
    }
    let (missing, unknown) = (missing(file, seen), unknown(file, seen));
    assert!(missing.is_empty() && unknown.is_empty(), "{file}: missing {missing:#?}, unknown {unknown:#?}");
}

fn missing(file: &str, seen: &Names) -> Names {
    known(file).into_iter().filter(|name| !name.ends_with(RARE) && !seen.contains(name)).collect()
}

fn unknown(file: &str, seen: &Names) -> Names {
    let known = known(file);
    let is_known = |name: &String| known.contains(name) || known.contains(&format!("{name}{RARE}"));
    seen.iter().filter(|name| !is_known(name)).cloned().collect()
}

fn known(file: &str) -> Names {
    let text = std::fs::read_to_string(path(file)).expect("names can be read");
    text.lines().map(str::to_owned).collect()
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("it/contract/names/{file}.txt"))
}

/// What the executable prints on standard output.
async fn printed(arguments: &[&str]) -> String {
    let output = dripfeed_tests::processes::command(arguments).output().await.expect("the executable can be started");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
