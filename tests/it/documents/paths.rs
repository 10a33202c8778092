use std::collections::BTreeSet;
use std::fs;

use dripfeed_tests::sources::from_the_root;

fn read(path: &str) -> String {
    fs::read_to_string(from_the_root(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn each_guarantee_of_the_readme_links_its_test() {
    let (readme, promises) = (read("README.md"), read("tests/it/promises.rs"));
    let links = readme.split("](tests/it/promises/").skip(1);
    let linked: BTreeSet<&str> = links.filter_map(|link| Some(link.split_once(".rs)")?.0)).collect();
    let tests: BTreeSet<&str> =
        promises.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    assert!(linked.is_subset(&tests), "no test: {:?}", linked.difference(&tests));
    let is_guarantee = |line: &&str| line.split_once(". [**").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    assert!(!linked.is_empty() && linked.len() == readme.lines().filter(is_guarantee).count(), "{linked:?}");
}

#[test]
fn each_file_that_security_names_exists() {
    let text = read("SECURITY.md");
    let named =
        text.split('`').skip(1).step_by(2).filter(|named| named.starts_with("tests/") || named.starts_with("crates/"));
    let missing: Vec<&str> = named.filter(|path| !from_the_root(path).is_file()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
