use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use dripfeed_store::{PrivateServer, ServerOptions};
use tempfile::TempDir;

use crate::program::{Running, dripfeed, redis, run, write};

const BROKEN: &str = r#"
    [intake]
    listne = "127.0.0.1:0"
    [buckets.mail]
    capacity = 0
"#;

#[test]
fn a_broken_configuration_ends_every_role_with_78_and_a_line_for_each_error() {
    let folder = TempDir::new().unwrap();
    let file = write(folder.path(), "dripfeed.toml", BROKEN);
    let data = folder.path().join("data").display().to_string();
    for command in [["check"].as_slice(), &["config"], &["intake"], &["processor"], &["dev", "--data", &data]] {
        let ended = run(&[command, &["-c", &file]].concat());
        assert_eq!(ended.code, Some(78), "{command:?}: {}", ended.err);
        for key in ["intake.listne", "buckets.mail.capacity", "buckets.mail.upstream"] {
            let told = ended.err.lines().filter(|line| line.contains(&file) && line.contains(key)).count();
            assert_eq!(told, 1, "{command:?} {key}: {}", ended.err);
        }
        assert!(ended.out.is_empty(), "{}", ended.out);
    }
    assert!(!fs::exists(data).unwrap(), "nothing was begun");
}

#[test]
fn one_error_of_a_section_does_not_hide_the_others() {
    let folder = TempDir::new().unwrap();
    let wrong = r#"
        [redis]
        url_file = "/nonexistent/url"
        prefix = "a b"
        [processor]
        lease = "1s"
        [intake]
        trusted_proxies = ["x", "10.0.0.0/8", "y"]
        [[keys]]
        sha256 = "12"
        buckets = []
        [buckets.mail]
        upstream = "http://127.0.0.1:1/"
        on_outcome = [{ buckets = "x" }, { bucket = "mail" }, { bucket = "a b", outcomes = [] }, {}]
        retry = { first = "1h", max = "1m" }
    "#;
    let file = write(folder.path(), "dripfeed.toml", wrong);
    let ended = run(&["check", "-c", &file]);
    assert_eq!(ended.code, Some(78), "{}", ended.err);
    for key in [
        "redis.url_file",
        "redis.prefix",
        "processor.lease",
        "intake.trusted_proxies[0]",
        "intake.trusted_proxies[2]",
        "keys[0].id",
        "keys[0].scopes",
        "keys[0].sha256",
        "keys[0].buckets",
        "buckets.mail.on_outcome[0].buckets",
        "buckets.mail.on_outcome[0]",
        "buckets.mail.on_outcome[1]",
        "buckets.mail.on_outcome[2].bucket",
        "buckets.mail.on_outcome[3]",
        "buckets.mail.retry.first",
    ] {
        let lines = ended.err.lines().filter(|line| line.contains(&format!("{file}: {key}: "))).count();
        assert_eq!(lines, 1, "{key}: {}", ended.err);
    }
}

#[test]
fn a_secret_that_everyone_can_read_is_refused() {
    let folder = TempDir::new().unwrap();
    let secret = write(folder.path(), "url", "redis://:canary@127.0.0.1:1");
    let told = |mode| {
        fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
        run(&["check", "--set", &format!("redis.url_file={secret}")])
    };
    assert_eq!(told(0o600).code, Some(0));
    let refused = told(0o644);
    assert_eq!(refused.code, Some(78));
    assert!(refused.err.contains("chmod") && !refused.err.contains("canary"), "{}", refused.err);
}

#[test]
fn listening_beyond_this_machine_without_keys_must_be_asked_for() {
    let open = ["check", "--set", "intake.listen=0.0.0.0:7180"];
    assert_eq!(run(&open).code, Some(78));
    assert_eq!(run(&[open.as_slice(), &["--insecure-no-auth"]].concat()).code, Some(0));
}

#[test]
fn the_environment_is_a_layer() {
    let check = |value| {
        let mut command = dripfeed(&["check"]);
        command.env("DRIPFEED__LOG__LEVEL", value).output().unwrap().status.code()
    };
    assert_eq!((check("debug"), check("loud")), (Some(0), Some(78)));
}

#[tokio::test]
async fn a_limit_of_open_files_below_the_connections_is_reported() {
    let (_folder, redis) = redis(&[]).await;
    let url = format!("redis.url={}", redis.url());
    let intake = ["intake", "--set", &url, "--set", "intake.listen=127.0.0.1:0"];
    let start = |limit: &str| {
        let program = dripfeed(&intake);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("ulimit {limit} && exec \"$@\"",), "sh"]);
        Running::start(command.arg(program.get_program()).args(program.get_args()))
    };
    let few = start("-n 300");
    let warning = few.says("the limit of open files allows fewer connections than are set");
    let fields = r#""setting":"intake.max_connections","connections":10000,"limit":300,"room":172"#;
    assert!(warning.contains(fields), "{warning}");
    // A limit that can be raised is.
    let raised = start("-Sn 300");
    raised.address();
    let limits = fs::read_to_string(format!("/proc/{}/limits", raised.id())).unwrap();
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap().split_whitespace().next();
    assert_ne!(soft, Some("300"), "{limits}");
    assert_eq!((few.end(), raised.end()), (Some(0), Some(0)));
    redis.stop().await.unwrap();
}

#[test]
fn settings_are_printed_with_their_origin_and_without_secrets() {
    let ended = run(&["config", "-o", "json", "--set", "redis.url=redis://:canary@localhost"]);
    let settings: Vec<serde_json::Value> = serde_json::from_str(&ended.out).unwrap();
    let url = settings.iter().find(|setting| setting["key"] == "redis.url").unwrap();
    assert_eq!(*url, serde_json::json!({"key": "redis.url", "value": "redis://***@localhost", "origin": "--set"}));
}

#[test]
fn options_before_and_after_the_command_are_combined() {
    let folder = TempDir::new().unwrap();
    let first = write(folder.path(), "first.toml", "[intake]\nmax_batch = 11\nmax_waits = 12\nmax_connections = 13");
    let later = write(folder.path(), "later.toml", "[intake]\nmax_waits = 22\nmax_connections = 23");
    let before = ["-c", &first, "--set", "log.level=debug", "--set", "log.format=human"];
    let after = ["-c", &later, "--set", "log.format=json", "--set", "intake.max_connections=33"];
    let ended = run(&[&before, ["config", "-o", "json"].as_slice(), &after].concat());
    let settings: Vec<serde_json::Value> = serde_json::from_str(&ended.out).unwrap();
    let origin = |key| &settings.iter().find(|setting| setting["key"] == key).unwrap()["origin"];
    let value = |key| &settings.iter().find(|setting| setting["key"] == key).unwrap()["value"];
    assert_eq!((origin("intake.max_batch"), value("intake.max_batch")), (&first.into(), &11.into()));
    assert_eq!((origin("intake.max_waits"), value("intake.max_waits")), (&later.into(), &22.into()));
    assert_eq!(value("intake.max_connections"), 33, "arguments win over files");
    assert_eq!((value("log.level"), value("log.format")), (&"debug".into(), &"json".into()));
    let open = ["--insecure-no-auth", "--set", "log.level=debug", "check", "--set", "intake.listen=0.0.0.0:7180"];
    assert_eq!(run(&open).code, Some(0));
}

#[tokio::test]
async fn a_redis_that_may_drop_jobs_is_refused_with_what_to_do() {
    let (_folder, server) = redis(&["--maxmemory-policy", "allkeys-lru"]).await;
    let url = format!("redis.url={}", server.url());
    for command in
        [["check", "--connect"].as_slice(), &["intake", "--set", "intake.listen=127.0.0.1:0"], &["processor"]]
    {
        let ended = run(&[command, &["--set", &url]].concat());
        assert_eq!(ended.code, Some(78), "{command:?}: {}", ended.err);
        let told = format!("{}{}", ended.out, ended.err);
        assert!(told.contains("allkeys-lru") && told.contains("maxmemory-policy noeviction"), "{told}");
    }
    server.stop().await.unwrap();
}

/// A bucket that takes less than the rest of an installation.
const SMALL: &str = r#"
    [buckets.mail]
    upstream = "http://127.0.0.1:1/"
    capacity = 3
    capacity_bytes = "1MiB"
    most_schedules = 1
    schedules_bytes = "64KiB"
    keep = { most_outcomes = 1, outcomes_bytes = "1MiB", most_dead = 1, dead_bytes = "1MiB", most_idempotency_keys = 1 }
"#;

#[tokio::test]
async fn a_maxmemory_that_is_too_low_or_not_set_is_a_warning_of_each_start_and_of_the_check() {
    let defined = format!("{SMALL}\n[define]\nupstreams = [\"https://a.example\"]\nbytes = \"1GiB\"\n");
    for (maxmemory, settings, warning) in [
        ("0", SMALL, Some("maxmemory of Redis isn't set")),
        ("64mb", SMALL, Some("maxmemory of Redis is 64 MiB")),
        ("1gb", SMALL, None),
        ("1gb", &defined, Some("maxmemory of Redis is 1024 MiB")),
        ("1gb", &defined, Some("buckets created over the API count with define.bytes (1GiB) only")),
        ("2gb", &defined, None),
    ] {
        let (folder, server) = redis(&["--maxmemory", maxmemory]).await;
        let file = write(folder.path(), "dripfeed.toml", settings);
        let url = format!("redis.url={}", server.url());
        let common = ["-c", &file, "--set", &url];
        let checked = run(&[["check", "--connect"].as_slice(), &common].concat());
        assert_eq!(checked.code, Some(0), "{}", checked.err);
        assert_eq!(checked.out.contains("maxmemory of Redis i"), warning.is_some(), "{maxmemory}: {}", checked.out);
        if let Some(warning) = warning {
            assert!(checked.out.contains(warning), "{maxmemory}: {}", checked.out);
            for role in ["intake", "processor"] {
                let listen = format!("{role}.listen=127.0.0.1:0");
                let role = Running::start(&mut dripfeed(&[[role, "--set", &listen].as_slice(), &common].concat()));
                role.says(warning);
                assert_eq!(role.end(), Some(0));
            }
        }
        server.stop().await.unwrap();
    }
}

#[tokio::test]
async fn the_check_names_the_durability_that_redis_gives() {
    let (_folder, redis) = redis(&["--appendonly", "no"]).await;
    let url = format!("redis.url={}", redis.url());
    let check = ["check", "--connect", "--set", &url, "--set", "redis.durability=everysec"];
    let checked = run(&check);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    assert!(
        checked.out.contains("warning: redis.durability is everysec, but Redis has `appendonly no`"),
        "{}",
        checked.out
    );
    assert!(checked.out.contains("durability class of accepted jobs: process"), "{}", checked.out);
    redis.stop().await.unwrap();
}

#[test]
fn a_redis_that_is_not_there_is_unreachable() {
    let ended = run(&["check", "--connect", "--set", "redis.url=unix:///nowhere/redis.sock"]);
    assert_eq!(ended.code, Some(69), "{}", ended.err);
    assert_eq!(ended.err.matches("No such file or directory").count(), 1, "{}", ended.err);
}

#[test]
fn an_error_is_one_line_whatever_its_cause_says() {
    let web = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis.url=redis://{}", web.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in web.incoming() {
            connection.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        }
    });
    let ended = run(&["check", "--connect", "--set", &url]);
    assert!(ended.err.contains("is the server Redis 6.2 or newer"), "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
}

#[tokio::test]
async fn redis_may_come_after_a_role_and_a_role_that_waits_can_be_stopped() {
    let folder = TempDir::new().unwrap();
    let url = format!("redis.url=unix://{}/redis.sock", folder.path().display());
    let start = || Running::start(&mut dripfeed(&["intake", "--set", &url, "--set", "intake.listen=127.0.0.1:0"]));
    let (stays, leaves) = (start(), start());
    for intake in [&stays, &leaves] {
        intake.says("can't connect to Redis yet");
    }
    assert_eq!(leaves.end(), Some(0));
    let server = PrivateServer::start(folder.path(), ServerOptions::default()).await.unwrap();
    stays.address();
    assert_eq!(stays.end(), Some(0));
    server.stop().await.unwrap();
}
