//! Which layer wins, and what is shown of it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use dripfeed_bucket::{BucketLimits, FairBy, Kind, Overrides, RUN_TIME_SETTINGS};
use dripfeed_job::Rate;
use serde_json::{Value as Json, json};

use super::{Folder, Layers, Settings, bucket, layers, load, tls};
use crate::settings::intake::DashboardPlace;

#[test]
fn the_defaults_alone_are_sound() {
    let settings = load(&layers([]));
    assert!(settings.buckets.is_empty() && settings.keys.is_empty());
    assert_eq!(settings.intake.listen.to_string(), "127.0.0.1:7180");
    assert_eq!(settings.processor.settings.lease, Duration::from_secs(10));
}

#[test]
fn a_file_without_a_setting_is_sound() {
    let folder = Folder::new();
    let text = "# buckets:\n#   mail: ...\n";
    assert!(load(&layers([folder.file("empty.yaml", text), folder.file("empty.toml", text)])).buckets.is_empty());
}

#[test]
fn off_needs_no_quotes_in_yaml() {
    let folder = Folder::new();
    let text =
        "{intake: {dashboard: off}, defaults: {fair: {by: off}}, buckets: {no: {upstream: 'http://127.0.0.1:1/'}}}";
    let settings = load(&layers([folder.file("off.yaml", text)]));
    assert!(matches!(settings.intake.dashboard, DashboardPlace::Off));
    assert_eq!(bucket(&settings, "no").fair.by, FairBy::Off);
}

#[test]
fn the_examples_are_sound() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    for example in fs::read_dir(config.join("examples")).unwrap() {
        let path = example.unwrap().path();
        // Programs, which `make clients` runs.
        if path.is_dir() {
            continue;
        }
        assert!(!load(&layers([path.clone()])).buckets.is_empty(), "{}", path.display());
    }
}

#[test]
fn later_layers_win_key_by_key() {
    let folder = Folder::new();
    let first = folder.file(
        "first.toml",
        r#"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/"
            capacity = 1
            [buckets.mail.leak]
            rate = "1/s"
            burst = 1
        "#,
    );
    let second = folder.file("second.yaml", "buckets: {mail: {capacity: 2, leak: {burst: 2, concurrency: 2}}}");
    let third = folder.file("third.json", r#"{"buckets": {"mail": {"leak": {"concurrency": 3}}}}"#);
    let settings = load(&Layers {
        environment: Some(HashMap::from([
            ("DRIPFEED__BUCKETS__MAIL__LEAK__CONCURRENCY".to_owned(), "4".to_owned()),
            ("DRIPFEED__BUCKETS__MAIL__DELIVERIES".to_owned(), "4".to_owned()),
            ("DRIPFEED__PROCESSOR__BUCKETS".to_owned(), r#"["mail"]"#.to_owned()),
            ("DRIPFEED_KEY".to_owned(), "not a setting".to_owned()),
        ])),
        arguments: vec!["buckets.mail.deliveries=5".to_owned(), "redis.prefix=7".to_owned()],
        ..layers([first, second, third])
    });
    let mail = bucket(&settings, "mail");
    assert_eq!((mail.capacity, mail.deliveries), (2, 5));
    assert_eq!((mail.leak.burst, mail.leak.concurrency), (2, 4));
    assert_eq!(mail.leak.rate, Some("1/s".parse::<Rate>().unwrap()));
    assert_eq!(settings.redis.prefix, "7", "a text that looks like a number stays a text where one is asked for");
}

#[test]
fn buckets_are_laid_over_the_section_defaults() {
    let folder = Folder::new();
    let file = folder.file(
        "dripfeed.toml",
        r#"
            [defaults]
            capacity = 7
            leak.max_in_flight = 9
            retry.attempts = 3
            [buckets.a]
            upstream = "http://127.0.0.1:1/"
            [buckets.b]
            upstream = "http://127.0.0.1:1/"
            capacity = 8
            retry.first = "2s"
            [buckets.list]
            upstream = "http://127.0.0.1:1/"
            kind = "list"
        "#,
    );
    let settings = load(&layers([file]));
    let [a, b, list] = ["a", "b", "list"].map(|name| bucket(&settings, name));
    assert_eq!((a.capacity, a.retry.attempts), (7, 3));
    assert_eq!((b.capacity, b.retry.attempts, b.retry.first), (8, 3, Duration::from_secs(2)));
    assert_eq!((list.kind, list.capacity), (Kind::List, 7));
    assert_eq!(list.retry.attempts, 1, "what a list can't do doesn't reach it");
}

#[test]
fn every_run_time_setting_is_read_from_a_file_as_at_run_time() {
    let folder = Folder::new();
    let read = |bucket: &Json| {
        let file = json!({ "buckets": { "mail": bucket } }).to_string();
        load(&layers([folder.file("dripfeed.json", file)]))
    };
    let plain = json!({ "upstream": "http://127.0.0.1:1/" });
    let defaults = bucket(&read(&plain), "mail");
    for setting in &RUN_TIME_SETTINGS {
        let value = serde_json::from_str(setting.example).unwrap_or_else(|_| Json::from(setting.example));
        let mut with_it = plain.clone();
        setting.put(&mut with_it, value.clone());
        let settings = read(&with_it);
        let configured = (bucket(&settings, "mail"), settings.buckets["mail"].limits.clone());
        let changes = Overrides::of(setting.name, value).unwrap();
        assert_eq!(configured, changes.over(&defaults, &BucketLimits::default()), "{}", setting.name);
        assert_ne!(configured, (defaults.clone(), BucketLimits::default()), "{}", setting.name);
    }
}

#[test]
fn shown_settings_have_an_origin_and_no_secrets() {
    let folder = Folder::new();
    let file = folder.file(
        "dripfeed.toml",
        r#"
            redis.url = "redis://me:canary@127.0.0.1:6379"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/feed?key=canary"
            headers = { Authorization = "canary" }
            signing_secret = "whsec_Y2FuYXJ5IGNhbmFyeSBjYW5hcnkgY2FuYXJ5"
            [buckets.sms]
            upstream = "http://127.0.0.1:1/"
            signing_secret = ["whsec_Y2FuYXJ5IGNhbmFyeSBjYW5hcnkgY2FuYXJ5"]
        "#,
    );
    let arguments = vec!["buckets.mail.capacity=5".to_owned()];
    let shown = Settings::rendered(&Layers { arguments, ..layers([file]) }).unwrap();
    let lines: Vec<_> = shown.iter().map(|shown| format!("{} {} {}", shown.key, shown.value, shown.origin)).collect();
    let dir = format!("{}/", folder.0.path().display());
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.ends_with(" default")).collect();
    let lines = lines.join("\n").replace(&dir, "");
    assert!(!lines.contains("canary") && !lines.contains("Y2FuYXJ5"), "{lines}");
    insta::assert_snapshot!(lines);
}

#[test]
fn a_reload_tells_what_takes_a_restart() {
    let before = load(&layers([]));
    let changed = |argument: &str| {
        let arguments = vec![argument.to_owned()];
        before.restart_needed(&load(&Layers { arguments, ..layers([]) }))
    };
    assert_eq!(changed("intake.listen=127.0.0.1:0"), ["intake.listen"]);
    assert_eq!(changed("redis.prefix=other"), ["redis.prefix"]);
    assert!(changed("log.level=debug").is_empty());
    assert_eq!(changed("log.format=human"), ["log.format"]);
    let folder = Folder::new();
    let with_tls = |name: &str| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = folder.file(&format!("{name}.cert"), made.cert.pem());
        let key = folder.secret(&format!("{name}.key"), &made.signing_key.serialize_pem(), 0o600);
        load(&tls(&certificate, &key))
    };
    let (one, two) = (with_tls("one"), with_tls("two"));
    assert!(one.restart_needed(&two).is_empty(), "a certificate is replaced");
    assert_eq!(before.restart_needed(&one), ["intake.tls_cert", "intake.tls_key"]);
    assert_eq!(one.restart_needed(&before), ["intake.tls_cert", "intake.tls_key"]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    let folder = Folder::new();
    for (name, content) in [
        ("a.toml", "redis.prefix = \"marked\""),
        ("a.yaml", "redis: {prefix: marked}"),
        ("a.json", r#"{"redis": {"prefix": "marked"}}"#),
    ] {
        let file = folder.file(name, format!("\u{feff}{content}"));
        assert_eq!(load(&layers([file])).redis.prefix, "marked", "{name}");
    }
}

#[test]
fn a_variable_that_is_nearly_a_setting_is_warned_of() {
    let environment = |names: &[&str]| {
        let environment = names.iter().map(|name| ((*name).to_owned(), "7".to_owned())).collect();
        let misnamed = load(&Layers { environment: Some(environment), ..layers([]) }).misnamed_variables;
        misnamed.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    // Of commands and of test runs, and of services of Kubernetes that have such a name.
    let others =
        ["DRIPFEED_KEY", "DRIPFEED_SERVER", "DRIPFEED_INTAKE_PORT", "DRIPFEED_INTAKE_SERVICE_HOST", "REDIS_URL"];
    assert!(environment(&others).is_empty());
    assert!(environment(&["DRIPFEED__REDIS__PREFIX"]).is_empty());
    for (name, setting) in [
        ("DRIPFEED_REDIS_URL", "DRIPFEED__REDIS__URL"),
        ("dripfeed_redis__url", "DRIPFEED__REDIS__URL"),
        ("DRIPFEED_INTAKE_MAX_BODY", "DRIPFEED__INTAKE__MAX_BODY"),
        ("DRIPFEED_DEFAULTS_LEAK_MAX_IN_FLIGHT", "DRIPFEED__DEFAULTS__LEAK__MAX_IN_FLIGHT"),
        ("DRIPFEED_BUCKETS_MAIL_CAPACITY", "DRIPFEED__BUCKETS__MAIL__CAPACITY"),
    ] {
        let warning = format!("the environment variable {name} sets nothing: name it {setting}");
        assert_eq!(environment(&[name]), [warning]);
    }
}

#[test]
fn a_variable_with_one_underscore_before_its_key_is_refused_with_its_right_name() {
    for (name, setting) in [
        ("DRIPFEED__REDIS_URL", "DRIPFEED__REDIS__URL"),
        ("DRIPFEED__INTAKE_MAX_BODY", "DRIPFEED__INTAKE__MAX_BODY"),
        ("DRIPFEED__BUCKETS_MAIL_CAPACITY", "DRIPFEED__BUCKETS__MAIL__CAPACITY"),
    ] {
        let environment = HashMap::from([(name.to_owned(), "7".to_owned())]);
        let reported = Folder::new().reported(&Layers { environment: Some(environment), ..layers([]) });
        assert!(reported.contains(&format!("{name}: ")), "{reported}");
        assert!(reported.contains(&format!("unknown section: name the variable {setting}")), "{reported}");
    }
}
