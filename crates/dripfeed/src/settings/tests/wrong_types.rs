//! Values of another type than their setting: each error has its file, its key, and what is allowed.

use std::collections::HashMap;

use super::{Folder, Layers, layers, reported};

/// The one error of a file of that section.
fn one(section: &str, line: &str) -> String {
    let reported = reported(&format!("[{section}]\n{line}\n"));
    let error = reported.strip_prefix("invalid configuration, 1 error:\n  dripfeed.toml: ");
    error.unwrap_or_else(|| unreachable!("[{section}] {line}: {reported}")).to_owned()
}

#[test]
fn a_value_of_another_type_is_answered_with_what_is_allowed() {
    for (section, line, expected) in [
        (
            "redis",
            "durability = 3",
            "redis.durability: 3 is not a valid value: use process, everysec, fsync, replicated",
        ),
        ("redis", "url = 3", "redis.url: must be a URL in quotes, such as \"redis://127.0.0.1:6379\", not 3"),
        ("redis", "prefix = {}", "redis.prefix: must be a string in quotes, not a table"),
        ("defaults", "kind = 3", "defaults.kind: 3 is not a valid value: use stream or list, in quotes"),
        ("defaults", "kind = { stream = 1 }", "defaults.kind: 1 is not a valid value: use stream or list"),
        ("defaults", "kind = {}", "defaults.kind: a table is not a valid value: use stream or list"),
        ("defaults", "leak = [\"10/s\"]", "defaults.leak: must be a table, not a list"),
        ("defaults", "retry = [3, \"1s\", \"10s\"]", "defaults.retry: must be a table, not a list"),
        ("defaults", "headers_file = 3", "defaults.headers_file: must be a path in quotes, not 3"),
        ("defaults", "max_share = 25", "defaults.max_share: must be a share in quotes, such as \"25%\" or \"free\""),
        ("defaults", "on_outcome = { bucket = 3, outcomes = [] }", "defaults.on_outcome.bucket: must be the name of a"),
        ("defaults", "limits = [3]", "defaults.limits[0]: must be a table"),
        ("defaults.leak", "rate = 10", "defaults.leak.rate: must be a rate in quotes, such as \"10/s\", not 10"),
        ("defaults.leak", "burst = 1.5", "defaults.leak.burst: must be a whole number, 1 or more, not 1.5"),
        ("defaults.leak", "adaptive = 1", "defaults.leak.adaptive: must be true or false, not 1"),
        ("defaults.leak", "tiers = {}", "defaults.leak.tiers: must be a list in brackets, not a table"),
        ("defaults.leak", "tiers = [{ kind = 3 }]", "defaults.leak.tiers[0].kind: must be a string in quotes, not 3"),
        (
            "defaults.fair",
            "by = false",
            "defaults.fair.by: false is not a valid value: use caller, group, off, in quotes",
        ),
        (
            "defaults.fair",
            "weights = { shop = 0 }",
            "defaults.fair.weights: the weight 0 of `shop` is out of range: use 1",
        ),
        ("defaults.fair", "flows = { shop = 4 }", "defaults.fair.flows.shop: must be a table of weight, rate, burst"),
        ("defaults.keep", "failed_attempts = 21", "defaults.keep.failed_attempts: 21 is too large: use at most 20"),
        (
            "defaults.keep",
            "when_dead_full = 1",
            "defaults.keep.when_dead_full: 1 is not a valid value: use drop_oldest or",
        ),
        ("buckets.mail", "upstream = 3", "buckets.mail.upstream: must be a string in quotes, not 3"),
        ("keys", "id = \"x\"", "keys: must be a list: write [[keys]] before each key, not [keys]"),
        ("processor", "buckets = [3]", "processor.buckets[0]: must be a string in quotes, not 3"),
        ("log", "level = 3", "log.level: must be a level in quotes: error, warn, info, debug or trace, not 3"),
        ("log", "format = 3", "log.format: 3 is not a valid value: use auto, human, json, in quotes"),
    ] {
        let error = one(section, line);
        assert!(error.starts_with(expected), "[{section}] {line}: {error}");
    }
}

#[test]
fn a_date_and_what_is_no_finite_number_are_shown_as_they_are_written() {
    for (section, line, expected) in [
        (
            "intake",
            "max_connections = 1979-05-27",
            "intake.max_connections: must be a whole number, 1 or more, not 1979-05-27",
        ),
        (
            "intake",
            "max_waits = 1979-05-27T07:32:00Z",
            "intake.max_waits: must be a whole number, 1 or more, not 1979-05-27T07:32:00Z",
        ),
        ("defaults.leak", "burst = 07:32:00", "defaults.leak.burst: must be a whole number, 1 or more, not 07:32:00"),
        ("defaults.leak", "burst = nan", "defaults.leak.burst: must be a whole number, 1 or more, not nan"),
        (
            "defaults.keep",
            "most_failed = -inf",
            "defaults.keep.most_failed: must be a whole number, 0 or more, not -inf",
        ),
        ("defaults.leak", "adaptive = inf", "defaults.leak.adaptive: must be true or false, not inf"),
        (
            "defaults.leak",
            "tiers = [{ kind = \"fixed\", limit = nan, period = \"1d\" }]",
            "defaults.leak.tiers[0].limit: must be a whole number, 0 or more, not nan",
        ),
        (
            "defaults.fair",
            "flows = { a = { weight = inf } }",
            "defaults.fair.flows.a.weight: must be a whole number, 0 or more, not inf",
        ),
        ("trace", "sampling = nan", "trace.sampling: must be a number from 0 to 1, such as 0.01, not nan"),
        ("trace", "sampling = 1.5", "trace.sampling: must be a number from 0 to 1, such as 0.01, not 1.5"),
        (
            "trace",
            "sampling = 2001-01-01",
            "trace.sampling: must be a number from 0 to 1, such as 0.01, not 2001-01-01",
        ),
        ("trace", "sampling = []", "trace.sampling: must be a number from 0 to 1, such as 0.01, not a list"),
    ] {
        assert_eq!(one(section, line), expected, "[{section}] {line}");
    }
    let file = Folder::new();
    let yaml = file.file("a.yaml", "intake:\n  max_connections: 2001-01-01\n");
    assert!(file.reported(&layers([yaml])).ends_with("must be a whole number, 1 or more, not 2001-01-01"));
}

#[test]
fn a_number_in_another_form_is_answered_with_the_one_to_write() {
    for (value, expected) in [
        ("1e3", "not 1000.0: write 1000"),
        ("5.0", "not 5.0: write 5"),
        ("-5.0", "not -5.0"),
        ("1.5", "not 1.5"),
        ("\"5\"", "not a string: remove the quotes"),
        ("\"canary\"", "not a string"),
    ] {
        let expected = format!("defaults.leak.burst: must be a whole number, 1 or more, {expected}");
        assert_eq!(one("defaults.leak", &format!("burst = {value}")), expected);
    }
    assert_eq!(one("defaults.leak", "adaptive = \"5\""), "defaults.leak.adaptive: must be true or false, not a string");
}

#[test]
fn a_value_in_place_of_a_section_is_the_only_error() {
    for (value, found) in [("1", "1"), ("[]", "a list"), ("\"canary\"", "a string")] {
        for section in ["defaults", "redis", "intake"] {
            let expected =
                format!("invalid configuration, 1 error:\n  dripfeed.toml: {section}: must be a table, not ");
            assert_eq!(reported(&format!("{section} = {value}")), format!("{expected}{found}"));
        }
    }
}

#[test]
fn a_number_beyond_64_bits_is_reported_with_its_key() {
    let file = "
        [intake]
        max_connections = 99999999999999999999999
        [[keys]]
        id = \"x\"
        [defaults]
        leak.tiers = [{ kind = \"fixed\", limit = -0x_ffff, period = \"1d\" }, { limit = 1e999 }]
    "
    .replace("-0x_ffff", "0xffff_ffff_ffff_ffff_ffff");
    insta::assert_snapshot!(reported(&file));
    let set = |text: &str| Folder::new().reported(&Layers { arguments: vec![text.to_owned()], ..layers([]) });
    let expected = "--set: intake.max_connections: must be a whole number, 1 or more, not 1e+23";
    assert!(set("intake.max_connections=99999999999999999999999").contains(expected));
}

#[test]
fn a_table_without_a_value_is_reported_with_its_file() {
    let folder = Folder::new();
    let set = folder.file("a.toml", "[intake]\nmax_batch = 5\n[intake.colour]\n");
    let empty = folder.file("z.toml", "[nothing]\n[intake.nothing]\n[defaults.kind]\n");
    let environment = HashMap::from([("DRIPFEED__LOG__FORMAT".to_owned(), "{}".to_owned())]);
    let arguments = vec!["log.level={}".to_owned()];
    let layers = Layers { arguments, environment: Some(environment), ..layers([set, empty]) };
    insta::assert_snapshot!(folder.reported(&layers));
}

/// As a template writes what it has no value for.
#[test]
fn a_bucket_with_an_empty_upstream_is_not_left_out() {
    let folder = Folder::new();
    let file = folder.file("dripfeed.yaml", "buckets: {mail: {upstream: , capacity: 5}}\n");
    let reported = folder.reported(&layers([file]));
    assert!(reported.contains("1 error:") && reported.contains("buckets.mail.upstream: is missing"), "{reported}");
}
