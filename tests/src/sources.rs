//! The source files of the product, for tests that must cover all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A path relative to the root of the workspace.
pub fn from_the_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root").join(path)
}

/// All files of the crates with this extension, except tests, examples, and the lab.
pub fn of_the_product(extension: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![from_the_root("crates")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.iter().any(|part| ["tests", "tests.rs", "examples", "lab"].iter().any(|other| part == *other)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}

/// The names of all scripts: those of their files, and the first words of their names in errors.
pub fn scripts() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in of_the_product("rs") {
        let source = fs::read_to_string(file).expect("a source");
        let own = source.split("#[cfg(test)]").next().unwrap_or_default();
        for made in ["Script::new(", "Scripts::new(", "Scripts::of_kinds(", "Scripts::without_rules("] {
            let names_in = own.split(made).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
            names.extend(names_in.map(|rest| rest.split(['"', ' ']).next().unwrap_or_default().to_owned()));
        }
    }
    names
}
