#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dripfeed_auth::ServiceSet;
use dripfeed_bucket::{BucketLimits, BucketSettings, Kind, Overrides, RUN_TIME_SETTINGS};
use dripfeed_job::Rate;
use dripfeed_store::Durability;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::{Layers, Settings};

/// A folder of configuration files; errors name them without it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn secret(&self, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn reported(&self, layers: &Layers) -> String {
        let dir = format!("{}/", self.0.path().display());
        match Settings::load(layers) {
            Ok(_) => "taken".to_owned(),
            Err(errors) => errors.to_string().replace(&dir, ""),
        }
    }
}

fn layers(files: impl IntoIterator<Item = PathBuf>) -> Layers {
    Layers { files: files.into_iter().collect(), environment: Some(HashMap::new()), ..Layers::default() }
}

/// What a file of that content is answered.
fn reported(toml: &str) -> String {
    let folder = Folder::new();
    let file = folder.file("dripfeed.toml", toml);
    folder.reported(&layers([file]))
}

fn bucket(settings: &Settings, name: &str) -> BucketSettings {
    settings.buckets.get(name).unwrap().settings(Durability::Everysec)
}

fn load(layers: &Layers) -> Settings {
    Settings::load(layers).unwrap_or_else(|errors| unreachable!("{errors}"))
}

#[test]
fn the_defaults_alone_are_sound() {
    let settings = load(&layers([]));
    assert!(settings.buckets.is_empty() && settings.keys.is_empty());
    assert_eq!(settings.intake.listen.to_string(), "127.0.0.1:7180");
    assert_eq!(settings.processor.settings.lease, Duration::from_secs(10));
}

#[test]
fn the_examples_are_sound() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    for example in fs::read_dir(config.join("examples")).unwrap() {
        let path = example.unwrap().path();
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
fn a_body_larger_than_a_script_may_read_is_refused() {
    let most = "[intake]\nmax_body = \"4MiB\"";
    assert_eq!(reported(most), "taken");
    let more = reported("[intake]\nmax_body = \"4194305B\"");
    assert!(more.contains("intake.max_body: use at most 4MiB"), "{more}");
}

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
fn what_cannot_be_read_is_told_before_anything_else() {
    let folder = Folder::new();
    let files = [
        folder.file("latin.toml", b"# caf\xe9\n[redis]\n"),
        folder.file("cut.toml", "[redis]\nurl = \"redis://:hunter2@host\n"),
        folder.file("cut.yaml", "redis: {url: [\n"),
        folder.file("cut.json", "{\"redis\": "),
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
fn a_list_refuses_what_it_cannot_do() {
    let reported = reported(
        r#"
            [buckets.list]
            upstream = "http://127.0.0.1:1/"
            kind = "list"
            retry = { attempts = 2, first = "1s", max = "1m" }
            keep = { when_dead_full = "hold" }
        "#,
    );
    insta::assert_snapshot!(reported);
}

#[test]
fn whom_to_trust_is_read_from_a_file() {
    let folder = Folder::new();
    let no_certificate = folder.file("none.pem", "-----BEGIN NOTHING-----\n");
    for (file, says) in [
        (folder.0.path().join("missing.pem"), "buckets.a.upstream_ca_file: can't read missing.pem"),
        (no_certificate, "buckets.a.upstream_ca_file: none.pem holds no certificate in PEM form"),
    ] {
        let bucket = format!("upstream = \"https://a.example/\"\nupstream_ca_file = \"{}\"", file.display());
        let reported = folder.reported(&layers([folder.file("dripfeed.toml", format!("[buckets.a]\n{bucket}"))]));
        assert!(reported.contains(says), "{reported}");
    }
}

#[test]
fn beyond_loopback_there_must_be_keys() {
    let open = layers([]);
    let exposed = Layers { arguments: vec!["intake.listen=0.0.0.0:7180".to_owned()], ..open };
    let folder = Folder::new();
    insta::assert_snapshot!(folder.reported(&exposed));
    let grpc = Layers { arguments: vec!["grpc.listen=0.0.0.0:7183".to_owned()], ..exposed.clone() };
    assert!(
        folder.reported(&grpc).contains("grpc.listen: 0.0.0.0:7183 is reachable by others"),
        "{}",
        folder.reported(&grpc)
    );
    assert_eq!(folder.reported(&Layers { insecure_no_auth: true, ..exposed.clone() }), "taken");
    let key = format!("keys = [{{ id = \"shop\", sha256 = \"{}\", scopes = [\"submit\"] }}]", "ab".repeat(32));
    let with_key = Layers { files: vec![folder.file("keys.toml", key)], ..exposed };
    assert_eq!(folder.reported(&with_key), "taken");
}

#[test]
fn keys_say_who_may_do_what() {
    let folder = Folder::new();
    let hash = folder.secret("shop.sha256", &format!("{}  -\n", "ab".repeat(32)), 0o644);
    let file = folder.file(
        "dripfeed.toml",
        format!(
            r#"
                keys = [
                    {{ id = "shop", hash_file = "{hash}", scopes = ["submit"] }},
                    {{ id = "shop", sha256 = "the key itself", scopes = [], buckets = ["mail"] }},
                    {{ id = "", scopes = ["admin"], hash_file = "{missing}" }},
                    {{ sha256 = "{digits}", scopes = ["read"], colour = "red" }},
                    {{ id = "cart", sha256 = "{digits}", scopes = ["read"], services = ["cart", "a/b"] }},
                    {{ id = "cart", sha256 = "{digits}", scopes = ["read"], services = [] }},
                    "just a text",
                ]
            "#,
            hash = hash.display(),
            missing = folder.0.path().join("missing.sha256").display(),
            digits = "0".repeat(64),
        ),
    );
    insta::assert_snapshot!(folder.reported(&layers([file])));
}

#[test]
fn a_keys_services_are_those_it_names_or_named_as_its_buckets() {
    let folder = Folder::new();
    let services = |members: &str| {
        let digits = "ab".repeat(32);
        let content = format!(
            "[buckets.mail]\nupstream = \"http://h/\"\n[[keys]]\nid = \"shop\"\nsha256 = \"{digits}\"\n\
             scopes = [\"submit\"]\n{members}"
        );
        load(&layers([folder.file("dripfeed.toml", content)])).keys.remove(0).services
    };
    let named = |name: &str| ServiceSet::Named([name.parse().unwrap()].into());
    assert_eq!(services(""), ServiceSet::All);
    assert_eq!(services("buckets = [\"mail\"]"), named("mail"));
    assert_eq!(services("buckets = [\"mail\"]\nservices = [\"cart\"]"), named("cart"));
    assert_eq!(services("services = [\"cart\", \"*\"]"), ServiceSet::All);
}

#[test]
fn a_caller_may_have_two_keys_but_no_key_twice() {
    let key = |id: &str, digits: &str| {
        format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{}\"\nscopes = [\"read\"]\n", digits.repeat(32))
    };
    assert_eq!(reported(&[key("shop", "ab"), key("shop", "cd")].concat()), "taken");
    insta::assert_snapshot!(reported(&[key("shop", "ab"), key("shop", "cd"), key("till", "AB")].concat()));
}

#[test]
fn secrets_come_from_files_that_others_cannot_read() {
    let folder = Folder::new();
    let url = folder.secret("redis.url", "redis://:hunter2@127.0.0.1:6379\n", 0o600);
    let headers = folder.secret("headers", "# for the partner\nAuthorization: Bearer hunter2\n\nX-Shop: 1\n", 0o640);
    let content = format!(
        r#"
            redis.url_file = "{}"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/"
            headers_file = "{}"
        "#,
        url.display(),
        headers.display()
    );
    let files = layers([folder.file("dripfeed.toml", content)]);
    assert_eq!(load(&files).redis.url.to_string(), "redis://127.0.0.1:6379/0");

    folder.secret("redis.url", "redis://:hunter2@127.0.0.1:6379", 0o644);
    folder.secret("headers", "Authorization Bearer hunter2", 0o600);
    let reported = folder.reported(&files);
    assert!(!reported.contains("hunter2"), "{reported}");
    insta::assert_snapshot!(reported);
}

#[test]
fn signing_secrets_are_one_or_more_wherever_they_stand() {
    let folder = Folder::new();
    let [old, new] = ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4"];
    let both = folder.secret("secrets", &format!("{new}\n{old}\n"), 0o600);
    let upstream = |settings: &str, arguments: &[String]| {
        let file = folder.file("dripfeed.toml", format!("[buckets.mail]\nupstream = \"http://h/\"\n{settings}"));
        let settings = load(&Layers { arguments: arguments.to_vec(), ..layers([file]) });
        settings.buckets.get("mail").unwrap().upstream.clone()
    };
    let unsigned = upstream("", &[]);
    let one = upstream(&format!("signing_secret = \"{old}\""), &[]);
    let two = upstream(&format!("signing_secret = [\"{new}\", \"{old}\"]"), &[]);
    assert!(unsigned != one && one != two);
    assert_eq!(upstream(&format!("signing_secret_file = \"{}\"", both.display()), &[]), two);
    let argument = |value: String| upstream("", &[format!("buckets.mail.signing_secret={value}")]);
    assert_eq!(argument(old.to_owned()), one);
    assert_eq!(argument(format!("[\"{new}\", \"{old}\"]")), two);

    folder.secret("secrets", &format!("{new}\ncanary\n"), 0o600);
    let reported = reported(&format!(
        "[buckets.mail]\nupstream = \"http://h/\"\nsigning_secret_file = \"{0}\"\n\
         [buckets.sms]\nupstream = \"http://h/\"\nsigning_secret_file = \"{0}\"\nsigning_secret = \"{new}\"",
        both.display()
    ));
    assert!(
        reported.contains("line 2 isn't a signing secret") && reported.contains("signing_secret is set too"),
        "{reported}"
    );
    assert!(!reported.contains("canary") && !reported.contains("whsec_Z"), "{reported}");
}

fn tls(certificate: &Path, key: &Path) -> Layers {
    let set = |name: &str, path: &Path| format!("intake.tls_{name}={}", path.display());
    Layers { arguments: vec![set("cert", certificate), set("key", key)], ..layers([]) }
}

#[test]
fn tls_takes_a_certificate_and_its_key() {
    let folder = Folder::new();
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (mine, other) = (made(), made());
    let certificate = folder.file("cert.pem", mine.cert.pem());
    let key = folder.secret("key.pem", mine.signing_key.serialize_pem().trim_end(), 0o600);
    let others = folder.secret("other.pem", &other.signing_key.serialize_pem(), 0o640);
    let open = folder.secret("open.pem", &mine.signing_key.serialize_pem(), 0o644);
    assert!(load(&tls(&certificate, &key)).intake.tls.is_some());
    assert!(load(&layers([])).intake.tls.is_none());
    let none = Path::new("");
    let reported =
        [(&*certificate, none), (none, &key), (&certificate, &others), (&certificate, &open), (&key, &certificate)]
            .map(|(certificate, key)| folder.reported(&tls(certificate, key)));
    insta::assert_snapshot!(reported.join("\n"));
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
    let shown = load(&Layers { arguments, ..layers([file]) }).rendered();
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
    assert_eq!(changed("intake.listen=127.0.0.1:0"), ["intake"]);
    assert_eq!(changed("redis.prefix=other"), ["redis"]);
    assert!(changed("log.level=debug").is_empty());
    let folder = Folder::new();
    let with_tls = |name: &str| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = folder.file(&format!("{name}.cert"), made.cert.pem());
        let key = folder.secret(&format!("{name}.key"), &made.signing_key.serialize_pem(), 0o600);
        load(&tls(&certificate, &key))
    };
    let (one, two) = (with_tls("one"), with_tls("two"));
    assert!(one.restart_needed(&two).is_empty(), "a certificate is replaced");
    assert_eq!(before.restart_needed(&one), ["intake"]);
    assert_eq!(one.restart_needed(&before), ["intake"]);
}

#[test]
fn a_pace_of_a_kind_that_cannot_be_is_refused_with_its_place() {
    let reported = reported(
        r#"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/"
            [buckets.mail.leak]
            rate = "10/s"
            tiers = [
                { kind = "fixed", limit = 10000, period = "1d" },
                { kind = "fixed", limit = 10, period = "1s", spread = "tenant" },
                { kind = "log", rate = "10/s" },
                { kind = "sliding", rate = "10/s" },
                { kind = "concurrent", limit = 3, lease = "1m" },
                { kind = "backlog", limit = 3 },
                { kind = "gate", rate = "2/s" },
                { kind = "bucket", limit = "many", period = "1s" },
            ]
        "#,
    );
    insta::assert_snapshot!(reported);
}

#[test]
fn limits_that_cannot_be_enforced_are_refused_with_their_place() {
    let reported = reported(
        r#"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/"
            [[buckets.mail.limits]]
            id = "each"
            key = ["caller", "moon"]
            tiers = [{ kind = "bucket", rate = "0/s" }]
            [buckets.sms]
            upstream = "http://127.0.0.1:1/"
            [[buckets.sms.limits]]
            id = "each"
            on_store_error = "open"
            tiers = [{ kind = "concurrent", limit = 3, lease = "1m" }]
            [[buckets.sms.limits]]
            id = "max_share"
            consistency = "leased"
            tiers = [{ kind = "bucket", rate = "100/s", burst = 100 }]
        "#,
    );
    insta::assert_snapshot!(reported);
}

#[test]
fn a_key_of_two_buckets_and_one_among_our_own_are_refused_and_named() {
    let upstream = "upstream = \"http://127.0.0.1:1/\"";
    let two = |one: &str, two: &str| {
        format!("[buckets.a]\n{upstream}\nkey = {one:?}\n[buckets.b]\n{upstream}\nkey = {two:?}\n")
    };
    assert_eq!(reported(&two("x:a", "x:b")), "taken");
    assert_eq!(reported(&two("dripfeed:x", "dripfeed")), "taken", "no hash tag, so no key of ours");
    let same = reported(&two("x:a", "x:a"));
    assert!(same.contains("buckets.b.key: `x:a` is the key of the bucket `a` too"), "{same}");
    let ours = reported(&two("dripfeed:{b}:jobs", "x"));
    assert!(ours.contains("buckets.a.key: `dripfeed:{b}:jobs` is among dripfeed's own keys"), "{ours}");
    let prefixed =
        reported(&format!("[redis]\nprefix = \"own\"\n{}", two("own:{@installation}:state", "dripfeed:{a}:x")));
    assert!(prefixed.contains("buckets.a.key") && !prefixed.contains("buckets.b.key"), "{prefixed}");
}

#[test]
fn a_bucket_of_the_defaults_fits_into_the_memory_of_the_containers() {
    let compose = include_str!("../../../../docker-compose.yml");
    let mib = compose.split("- --maxmemory\n").nth(1).unwrap().trim().strip_prefix("- ").unwrap();
    let mib: u64 = mib.split("mb").next().unwrap().parse().unwrap();
    let folder = Folder::new();
    let file = folder.file("dripfeed.toml", "[buckets.a]\nupstream = \"http://127.0.0.1:1/\"");
    let needed = bucket(&load(&layers([file])), "a").most_memory() + dripfeed_bucket::INSTALLATION;
    assert!(needed <= mib << 20, "{needed} bytes are needed, {mib} MiB given");
}
