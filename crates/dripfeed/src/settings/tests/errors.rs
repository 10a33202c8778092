//! All errors are reported together, with file and key, and without secrets.

use std::collections::HashMap;

use super::{Folder, Layers, layers, reported};

#[test]
fn all_errors_are_told_at_once_with_file_and_key() {
    let folder = Folder::new();
    let first = folder.file(
        "first.toml",
        r#"
            [redis]
            url = "http://localhost"
            durabilty = "fsync"
            [intake]
            listen = "localhost"
            max_body = 1000000
            head_timeout = "10"
            max_connections = 0
            trusted_proxies = ["10.0.0.0/33", "::1"]
            [limits]
            x = 1
            [buckets.mail]
            capacity = "many"
            timeout = 30
            leak = { rate = "0/s", concurrency = 0, speed = "fast", burst = 9007199254740992 }
            [buckets."a b"]
            upstream = "http://127.0.0.1:1/"
            [buckets.sms]
            upstream = "ftp://example.com"
            method = "CONNECT"
            retry = { first = "1h", max = "1m" }
            kind = "steam"
            leak = { rate = "1/day", burst = 1000000 }
            limits = [{ id = "each" }]
            [[keys]]
            id = "shop"
            sha256 = "12"
            scopes = ["fly"]
            [[keys]]
            id = "unset"
            sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            scopes = ["submit"]
        "#,
    );
    let second = folder.file("second.yaml", "processor: {lease: 1s, buckets: [mial], drain: 0s}\nlog: {level: loud}");
    let reported = folder.reported(&Layers {
        environment: Some(HashMap::from([("DRIPFEED__INTAKE__DRAIN".to_owned(), "soon".to_owned())])),
        arguments: vec!["intake.max_batch=5000".to_owned()],
        ..layers([first, second])
    });
    insta::assert_snapshot!(reported);
}

#[test]
fn all_that_is_wrong_with_an_upstream_and_its_limits_is_reported_at_once() {
    let folder = Folder::new();
    let headers = folder.secret("headers", "Host: a\nno colon\nneither\n", 0o600);
    let secrets = "whsec_canary\nwhsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\nshort\n";
    let secrets = folder.secret("secrets", secrets, 0o600);
    let file = folder.file(
        "dripfeed.toml",
        format!(
            r#"
            [buckets.a]
            upstream = "http://user:canary@10.0.0.1/#here"
            allow_private = false
            method = "CONNECT"
            timeout = "0s"
            connect_timeout = "0s"
            headers = {{ Host = "canary", "a b" = "canary", Fine = "1", "Content-Length" = "7" }}
            limits = [
                {{ id = "a b", cost = 3, speed = 1, tiers = [
                    {{ kind = "gate", period = 10, burst = 3, align = "first" }},
                    {{ kind = "bucket", rate = "2/s", burst = 2 }},
                    {{ kind = "log", limit = 5000, period = "0s", min_gap = "1s" }},
                ] }},
                {{ id = "each", enabled = "yes", mode = "harsh", max_scopes = 0, key = [
                    "nobody", 7, "path:id",
                ], tiers = [
                    {{ kind = "fixed", rate = "1/s", spread = "tenant" }}, 7,
                ], match = {{ methods = ["G T", "", "GET"], path = "v1", host = "a" }} }},
                {{ id = "x", tiers = [{{ kind = "gate", period = "1s" }}] }},
                {{ id = "x", tiers = [{{ kind = "concurrent", limit = 1, lease = "1s" }}] }},
                {{ id = "x", cost = 2, tiers = [{{ kind = "gate", period = "1s" }}] }},
            ]
            [buckets.b]
            headers_file = "{headers}"
            signing_secret_file = "{secrets}"
            method = "TRACE"
            timeout = "0s"
        "#,
            headers = headers.display(),
            secrets = secrets.display()
        ),
    );
    let reported = folder.reported(&layers([file]));
    assert!(!reported.contains("canary"), "{reported}");
    insta::assert_snapshot!(reported);
}

#[test]
fn an_argument_that_cannot_be_read_hides_no_error_of_other_layers() {
    let folder = Folder::new();
    let file = folder.file("dripfeed.toml", "[processor]\nlease = \"soon\"\n");
    for argument in ["redis.url", "redis url=x"] {
        let reported = folder.reported(&Layers {
            environment: Some(HashMap::from([("DRIPFEED__INTAKE__DRAIN".to_owned(), "soon".to_owned())])),
            arguments: vec![argument.to_owned(), "log.level=loud".to_owned()],
            ..layers([file.clone()])
        });
        for wrong in ["processor.lease", "DRIPFEED__INTAKE__DRAIN", "log.level", "use section.key"] {
            assert!(reported.contains(wrong), "{wrong} is missing in {reported}");
        }
    }
}

/// The only error of each.
#[test]
fn a_refused_value_has_no_second_error_that_comes_of_it() {
    let folder = Folder::new();
    for (bucket, wrong) in [
        ("kind = \"list\"\nfair = { rate = \"1/s\" }", "buckets.b.fair.rate: a list has no fair queuing"),
        ("kind = \"list\"\nretry = { first = \"1d\" }", "buckets.b.retry.first: a list has no retries"),
        ("on_outcome = { bucket = \"c\", outcomes = [\"lost\"] }", "`lost` is not a valid value"),
        ("on_outcome = [{ bucket = \"c\", outcomes = [\"lost\"] }]", "`lost` is not a valid value"),
    ] {
        let upstream = "upstream = \"http://127.0.0.1:9/\"";
        let file =
            folder.file("dripfeed.toml", format!("[buckets.c]\n{upstream}\n[buckets.b]\n{upstream}\n{bucket}\n"));
        let reported = folder.reported(&layers([file]));
        assert!(reported.contains("1 error:") && reported.contains(wrong), "{bucket}: {reported}");
    }
}

#[test]
fn what_cannot_be_read_is_told_before_anything_else() {
    let folder = Folder::new();
    let files = [
        folder.file("latin.toml", b"# caf\xe9\n[redis]\n"),
        folder.file("cut.toml", "[redis]\nurl = \"redis://:hunter2@host\n"),
        folder.file("cut.yaml", "redis: {url: [\n"),
        folder.file("twice.yaml", "redis:\n  prefix: a\n  prefix: b\n"),
        folder.file("cut.json", "{\"redis\": "),
        folder.file("twice.json", r#"{"redis": {"prefix": "a", "prefix": "b"}}"#),
        folder.file("config.ini", ""),
        folder.0.path().join("missing.toml"),
    ];
    let reported = folder.reported(&Layers { arguments: vec!["redis.url".to_owned()], ..layers(files) });
    assert!(!reported.contains("hunter2"), "{reported}");
    insta::assert_snapshot!(reported);
}

#[test]
fn an_error_in_the_section_defaults_is_told_once() {
    let reported = reported(
        r#"
            [defaults]
            upstream = "http://127.0.0.1:1/"
            capacity = 0
            keep.outcomes = "1"
            [buckets.a]
            upstream = "http://127.0.0.1:1/"
            [buckets.b]
            upstream = "http://127.0.0.1:1/"
        "#,
    );
    insta::assert_snapshot!(reported);
}

#[test]
fn no_error_shows_a_secret() {
    let reported = reported(
        r#"
            redis.url = ["redis://:canary@127.0.0.1"]
            keys = "canary"
            [buckets.a]
            upstream = "http://user:canary@127.0.0.1:1/"
            headers = "Authorization: canary"
            [buckets.b]
            upstream = "http://127.0.0.1:1/"
            headers = { "Bad Name" = "canary", Authorization = "canary\n" }
            [buckets.c]
            upstream = "http://127.0.0.1:1/"
            headers = [["Authorization", "canary"]]
            [buckets.d]
            upstream = "http://127.0.0.1:1/"
            signing_secret = "whsec_canary"
            [buckets.e]
            upstream = "http://127.0.0.1:1/"
            signing_secret = ["canary", 7, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"]
            [buckets.f]
            upstream = "http://127.0.0.1:1/"
            signing_secret = { canary = "canary" }
        "#,
    );
    assert!(!reported.contains("canary"), "{reported}");
    insta::assert_snapshot!(reported);
}

#[test]
fn traces_have_an_address_and_a_ratio() {
    let reported = |trace: &str| reported(&format!("[trace]\n{trace}\n"));
    for bad in ["endpoint = \"localhost:4318\"", "endpoint = \"grpc://h:4317\"", "endpoint = \"http://\""] {
        assert!(reported(bad).contains("such as http://127.0.0.1:4318"), "{bad}: {}", reported(bad));
    }
    for bad in ["sampling = 1.5", "sampling = -0.1", "sampling = nan"] {
        assert!(reported(bad).contains("must be a number from 0 to 1"), "{bad}: {}", reported(bad));
    }
    let set = reported("endpoint = \"http://127.0.0.1:4318\"");
    if cfg!(feature = "otlp") {
        assert_eq!(set, "taken");
    } else {
        assert!(set.contains("trace.endpoint: this build can't export traces"), "{set}");
    }
}

#[test]
fn two_listeners_at_one_address_are_refused() {
    let set = |arguments: &[&str]| {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        Folder::new().reported(&Layers { arguments, insecure_no_auth: true, ..layers([]) })
    };
    for (arguments, key) in [
        (["intake.listen=127.0.0.1:7180", "intake.dashboard=127.0.0.1:7180"], "intake.dashboard"),
        (["intake.listen=127.0.0.1:7180", "intake.metrics_listen=0.0.0.0:7180"], "intake.metrics_listen"),
        (["intake.listen=[::]:7180", "grpc.listen=[::1]:7180"], "grpc.listen"),
    ] {
        let reported = set(&arguments);
        assert!(reported.contains(key) && reported.contains("listens there for intake.listen"), "{reported}");
    }
    for arguments in [
        ["intake.listen=127.0.0.1:0", "intake.dashboard=127.0.0.1:0"],
        ["intake.listen=127.0.0.1:7180", "grpc.listen=127.0.0.2:7180"],
        ["intake.listen=0.0.0.0:7180", "grpc.listen=[::1]:7180"],
        ["intake.listen=127.0.0.1:7180", "processor.listen=127.0.0.1:7180"],
    ] {
        assert_eq!(set(&arguments), "taken", "{arguments:?}");
    }
}

#[test]
fn a_name_that_no_setting_can_have_is_no_section() {
    let arguments = vec!["buckets.bad name.upstream=http://127.0.0.1:1/".to_owned()];
    let reported = Folder::new().reported(&Layers { arguments, ..layers([]) });
    assert!(reported.contains("`buckets.bad name.upstream` can't be a setting"), "{reported}");
}

#[test]
fn buckets_that_are_no_table_are_an_error_and_not_none() {
    let folder = Folder::new();
    let base = folder.file("base.toml", "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n");
    for value in ["null", "\"x\"", "5", "[]", "false", "\"\""] {
        let over = folder.file("over.yaml", format!("buckets: {value}\n"));
        let reported = folder.reported(&layers([base.clone(), over]));
        assert!(reported.contains("over.yaml: buckets: must be a table"), "{value}: {reported}");
    }
    let environment = Some(HashMap::from([("DRIPFEED__BUCKETS".to_owned(), String::new())]));
    let reported = folder.reported(&Layers { environment, ..layers([base]) });
    assert!(reported.contains("DRIPFEED__BUCKETS: buckets: must be a table"), "{reported}");
}

#[test]
fn an_error_in_a_tier_is_attributed_to_the_layer_that_has_it() {
    let folder = Folder::new();
    let base = folder.file("base.toml", "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\nleak.rate = \"1/s\"\n");
    for (set, key) in [
        ("defaults.leak.tiers=[{kind=\"gate\"}]", "--set: defaults.leak.tiers[0]"),
        ("buckets.b.leak.tiers=[{kind=\"gate\"}]", "--set: buckets.b.leak.tiers[0]"),
        ("buckets.b.limits=[{id=\"a\",tiers=[{kind=\"gate\"}]}]", "--set: buckets.b.limits[0].tiers[0]"),
    ] {
        let arguments = vec![set.to_owned()];
        let reported = folder.reported(&Layers { arguments, ..layers([base.clone()]) });
        assert!(reported.contains(key), "{set}: {reported}");
    }
}

#[test]
fn a_number_that_is_too_large_is_refused_with_its_bound() {
    for (set, most) in [
        ("defaults.leak.concurrency=65536", "use at most 65535"),
        ("define.concurrency=65536", "use at most 65535"),
        ("defaults.retry.attempts=4294967296", "use at most 4294967295"),
        ("defaults.capacity=9007199254740992", "use at most 9007199254740991"),
    ] {
        let reported = Folder::new().reported(&Layers { arguments: vec![set.to_owned()], ..layers([]) });
        assert!(reported.contains(most), "{set}: {reported}");
    }
}

#[test]
fn of_two_settings_that_contradict_each_other_the_one_that_was_set_is_reported() {
    let upstream = "upstream = \"http://127.0.0.1:1/\"";
    let errors = |settings: &str| reported(settings).lines().skip(1).map(str::trim).collect::<Vec<_>>().join("\n");
    for (settings, error) in [
        ("retry.max = \"500ms\"", "buckets.a.retry.max: 500ms is less than retry.first, 1s"),
        ("retry.first = \"11m\"", "buckets.a.retry.first: 11m exceeds retry.max, 10m"),
        ("retry = { first = \"2s\", max = \"1s\" }", "buckets.a.retry.first: 2s exceeds retry.max, 1s"),
        ("leak.max_hold = \"500ms\"", "buckets.a.leak.max_hold: 500ms is less than leak.default_hold, 1s"),
        ("leak.default_hold = \"2h\"", "buckets.a.leak.default_hold: 2h exceeds leak.max_hold, 1h"),
    ] {
        assert_eq!(errors(&format!("[buckets.a]\n{upstream}\n{settings}\n")), format!("dripfeed.toml: {error}"));
        let of_all = error.replace("buckets.a", "defaults");
        let defaults = format!("[defaults]\n{settings}\n[buckets.a]\n{upstream}\n[buckets.b]\n{upstream}\n");
        assert_eq!(errors(&defaults), format!("dripfeed.toml: {of_all}"));
    }
    // Each of the two layers is right alone.
    let both = format!("[defaults.retry]\nfirst = \"2m\"\n[buckets.a]\n{upstream}\nretry.max = \"1m\"\n");
    assert_eq!(errors(&both), "dripfeed.toml: buckets.a.retry.max: 1m is less than retry.first, 2m");
}
