//! What is written about the crates and the compose file, compared with them.

use std::fs;
use std::path::Path;
use std::process::Command;

use sha2::{Digest as _, Sha256};

/// The crates as `crates/README.md` draws them, the lowest line first.
fn layers(text: &str) -> Vec<Vec<&str>> {
    let drawn = text.lines().skip_while(|line| !line.starts_with("    ")).take_while(|line| line.starts_with("    "));
    let layers = drawn.map(|line| line.trim().split(" · ").collect::<Vec<_>>());
    layers.collect::<Vec<_>>().into_iter().rev().collect()
}

#[test]
fn crates_use_those_below_them() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let text = fs::read_to_string(crates.join("README.md")).expect("crates/README.md");
    let mut below: Vec<String> = Vec::new();
    for layer in layers(&text) {
        for name in &layer {
            let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).expect("a crate of that name");
            let used = manifest.split("[dev-dependencies]").next().unwrap_or_default().lines();
            for line in used.filter_map(|line| line.strip_prefix("dripfeed-")) {
                let used = line.split(['.', ' ']).next().unwrap_or_default();
                assert!(below.iter().any(|lower| lower == used), "{name} uses {used}, which isn't below it");
            }
        }
        below.extend(layer.into_iter().map(str::to_owned));
    }
    let folders = fs::read_dir(&crates).expect("crates").flatten().filter(|entry| entry.path().is_dir());
    assert_eq!(below.len(), folders.count(), "{below:?}");
}

/// A crate is packed with what is in its folder, and both licences ask for their text in each copy.
#[test]
fn each_crate_has_the_text_of_its_licences() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("LICENSE")).expect("LICENSE");
    let crates = fs::read_dir(root.join("crates")).expect("crates").flatten().map(|entry| entry.path());
    for folder in crates.filter(|path| path.is_dir()) {
        assert_eq!(fs::read_to_string(folder.join("LICENSE")).ok().as_ref(), Some(&text), "{}", folder.display());
    }
}

#[test]
fn the_readme_of_a_crate_shows_lines_of_its_example() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    for name in ["job", "store", "limit", "client", "bucket"] {
        let text = fs::read_to_string(crates.join(name).join("README.md")).expect("a README");
        let example =
            text.split("](").find_map(|rest| rest.split(')').next().filter(|path| path.starts_with("examples/")));
        let example = crates.join(name).join(example.expect("a link to the example"));
        let program = fs::read_to_string(&example).unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        let shown = text.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("code");
        for line in shown.lines() {
            assert!(program.contains(line.trim()), "{} has no line `{line}`", example.display());
        }
    }
}

#[test]
fn the_readme_shows_lines_of_clients_that_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let programs =
        ["crates/client/examples/push.rs", "tests/clients/client.py", "tests/clients/client.ts"].map(read).concat();
    let readme = read("README.md");
    let section = readme.split("\n## Client libraries\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let section = section.expect("a section");
    let shown: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(shown.len() >= 8, "{shown:#?}");
    for line in shown {
        assert!(programs.contains(line.trim()), "no client has the line `{line}`");
    }
}

#[test]
fn make_key_makes_what_docker_compose_asks_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(root.join("Makefile"), folder.path().join("Makefile")).expect("the Makefile");
    let mut make = Command::new("make");
    // Of a `make test` above this test.
    let made = make.arg("key").env_remove("MAKELEVEL").env_remove("MAKEFLAGS").current_dir(&folder).output();
    let key = String::from_utf8(made.expect("make").stdout).expect("text");
    let env = fs::read_to_string(folder.path().join(".env")).expect(".env");
    let (name, file) = env.trim().split_once('=').expect("a variable");
    let hash = fs::read_to_string(folder.path().join(file)).expect("the hash");
    let expected: String = Sha256::digest(key.trim()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash.trim(), expected);
    let compose = fs::read_to_string(root.join("docker-compose.yml")).expect("docker-compose.yml");
    assert!(compose.contains(&format!("file: \"${{{name}:?")), "docker compose asks for no {name}");
}
