use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::program::{Running, dripfeed, redis, run, run_with_input, write};

const ONE: &str = "[buckets.one]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 10\n";
/// That of the lease.
const NEEDS_RESTART: &str = r#"restart to apply them","settings":"processor.lease""#;
const TWO: &str = "[buckets.two]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test]
async fn sound_settings_are_taken_and_unsound_ones_change_nothing() {
    let (folder, redis) = redis(&[]).await;
    let file = write(folder.path(), "dripfeed.toml", ONE);
    let url = format!("redis.url={}", redis.url());
    let intake = ["intake", "-c", &file, "--set", &url, "--set", "intake.listen=127.0.0.1:0"];
    let intake = Running::start(&mut dripfeed(&intake));
    let processor = ["processor", "-c", &file, "--set", &url, "--set", "processor.listen=127.0.0.1:0"];
    let processor = Running::start(&mut dripfeed(&processor));
    let server = intake.address();
    processor.says(r#""bucket":"one""#);
    let reload = |settings: &str, says: &str| {
        fs::write(&file, settings).unwrap();
        for role in [&intake, &processor] {
            role.signal(Signal::SIGHUP);
            role.says(says);
        }
    };
    let buckets = || run(&["buckets", "--server", &server]).out;

    reload(&format!("{ONE}{TWO}").replace("capacity = 10", "capacity = 20"), "settings reloaded");
    assert!(buckets().contains("two") && buckets().contains("0 of 20"), "{}", buckets());
    processor.says(r#""bucket":"two""#);

    reload("[buckets.one]\ncapacity = 0\n", "reload failed; settings unchanged");
    assert!(buckets().contains("two") && buckets().contains("0 of 20"), "{}", buckets());

    let one_key = format!("{ONE}key = \"jobs\"\n{TWO}key = \"jobs\"\n");
    reload(&one_key, "buckets.two.key: the bucket `one` has the same key, `jobs`");
    assert!(buckets().contains("two") && buckets().contains("0 of 20"), "{}", buckets());

    reload(&format!("{ONE}[processor]\nlease = \"20s\"\n"), NEEDS_RESTART);
    processor.says("this replica has left the bucket");
    assert!(!buckets().contains("two"), "{}", buckets());

    assert_eq!((intake.end(), processor.end()), (Some(0), Some(0)));
    redis.stop().await.unwrap();
}

#[tokio::test]
async fn a_reload_changes_the_log_level_and_ignores_an_invalid_one() {
    let (folder, redis) = redis(&[]).await;
    let file = write(folder.path(), "dripfeed.toml", ONE);
    let url = format!("redis.url={}", redis.url());
    let processor = ["processor", "-c", &file, "--set", &url, "--set", "processor.listen=127.0.0.1:0"];
    let processor = Running::start(&mut dripfeed(&processor));
    processor.says(r#""bucket":"one""#);
    let reload = |settings: &str, says: &str| {
        fs::write(&file, settings).unwrap();
        processor.signal(Signal::SIGHUP);
        processor.says(says)
    };
    let quiet = format!("{ONE}[log]\nlevel = \"warn\"\n");
    reload(&format!("{quiet}[processor]\nlease = \"20s\"\n"), NEEDS_RESTART);
    reload(&quiet.replace("warn", "loud"), "log.level: `loud` is not a log level");
    let first = reload(&format!("{ONE}{TWO}"), "settings reloaded");
    assert!(first.contains(r#""buckets":2"#), "what was read at the level `warn` is in the log: {first}");
    assert_eq!(processor.end(), Some(0));
    redis.stop().await.unwrap();
}

#[tokio::test]
async fn a_definition_that_the_configuration_overrides_is_in_the_log() {
    let (folder, redis) = redis(&[]).await;
    let define = "[define]\nupstreams = [\"http://127.0.0.1:1\"]\nallow_private = true\n";
    let file = write(folder.path(), "dripfeed.toml", define);
    let url = format!("redis.url={}", redis.url());
    let intake = ["intake", "-c", &file, "--set", &url, "--set", "intake.listen=127.0.0.1:0"];
    let intake = Running::start(&mut dripfeed(&intake));
    let server = intake.address();
    let put = run(&["bucket", "put", "one", "--upstream", "http://127.0.0.1:1/", "--server", &server]);
    assert_eq!(put.code, Some(0), "{}", put.err);

    fs::write(&file, format!("{define}{ONE}")).unwrap();
    intake.signal(Signal::SIGHUP);
    assert!(intake.says("isn't used").contains(r#""bucket":"one""#));
    assert_eq!(run(&["bucket", "delete", "one", "--server", &server]).code, Some(1));

    fs::write(&file, define).unwrap();
    intake.signal(Signal::SIGHUP);
    intake.says("settings reloaded");
    intake.says("settings reloaded");
    assert_eq!(run(&["bucket", "delete", "one", "--server", &server]).code, Some(0));
    assert_eq!(intake.end(), Some(0));
    redis.stop().await.unwrap();
}

/// Writes a certificate for this machine that trusts itself, and its key.
fn certify(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = write(folder, "key.pem", &made.signing_key.serialize_pem());
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
    write(folder, "cert.pem", &made.cert.pem())
}

#[tokio::test]
async fn a_reload_replaces_the_certificate() {
    let (folder, redis) = redis(&[]).await;
    let file = write(folder.path(), "dripfeed.toml", ONE);
    let certificate = certify(folder.path());
    let settings = [
        format!("redis.url={}", redis.url()),
        "intake.listen=127.0.0.1:0".to_owned(),
        format!("intake.tls_cert={certificate}"),
        format!("intake.tls_key={}", folder.path().join("key.pem").display()),
    ];
    let arguments = ["intake", "-c", &file].into_iter().chain(settings.iter().flat_map(|set| ["--set", set]));
    let intake = Running::start(&mut dripfeed(&arguments.collect::<Vec<_>>()));
    let server = intake.address();
    assert!(server.starts_with("https://127.0.0.1:"), "{server}");
    let buckets = |ca: &str| run(&["buckets", "--server", &server, "--ca", ca]);
    assert!(buckets(&certificate).out.contains("one"));

    let old = write(folder.path(), "old.pem", &fs::read_to_string(&certificate).unwrap());
    certify(folder.path());
    intake.signal(Signal::SIGHUP);
    intake.says("settings reloaded");
    assert!(buckets(&certificate).out.contains("one"));
    assert_eq!(buckets(&old).code, Some(69), "{}", buckets(&old).err);

    fs::write(&certificate, "no certificate").unwrap();
    intake.signal(Signal::SIGHUP);
    intake.says("intake.tls_cert");
    assert_eq!(buckets(&file).code, Some(78), "a file without certificates");
    assert_eq!(intake.end(), Some(0));
    redis.stop().await.unwrap();
}

/// In place of one with a key, the intake takes no file without keys: it says why, and still asks for a key.
async fn keeps_its_keys(listen: &str, why: &str) {
    let (folder, redis) = redis(&[]).await;
    let hash = "0".repeat(64);
    let keys = format!("[[keys]]\nid = \"a\"\nsha256 = \"{hash}\"\nscopes = [\"read\"]\n");
    let file = write(folder.path(), "dripfeed.toml", &format!("{keys}[intake]\nlisten = \"{listen}\"\n{ONE}"));
    let url = format!("redis.url={}", redis.url());
    let intake = Running::start(&mut dripfeed(&["intake", "-c", &file, "--set", &url]));
    let server = intake.address().replace("0.0.0.0", "127.0.0.1");
    let needs_a_key = || run(&["buckets", "--server", &server]).code == Some(77);
    assert!(needs_a_key());
    // Sound alone: the port of the start stays, whatever a file says.
    for settings in [format!("[intake]\nlisten = \"127.0.0.1:0\"\n{TWO}"), String::new()] {
        fs::write(&file, settings).unwrap();
        intake.signal(Signal::SIGHUP);
        let line = intake.says("reload failed; settings unchanged");
        assert!(line.contains("no [[keys]] are configured") && line.contains(why), "{line}");
        assert!(needs_a_key());
    }
    assert_eq!(intake.end(), Some(0));
    redis.stop().await.unwrap();
}

#[tokio::test]
async fn an_intake_that_others_reach_keeps_its_keys_when_a_file_has_none() {
    keeps_its_keys("0.0.0.0:0", "is not a loopback address").await;
}

/// As behind a proxy of the same machine.
#[tokio::test]
async fn an_intake_on_loopback_keeps_its_keys_when_a_file_has_none() {
    keeps_its_keys("127.0.0.1:0", "this intake has had some").await;
}

fn status(server: &str, path: &str) -> u16 {
    let address = server.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_stopping_intake_serves_on_until_load_balancers_have_seen_it() {
    let (folder, redis) = redis(&[]).await;
    let file = write(folder.path(), "dripfeed.toml", ONE);
    let settings = [
        format!("redis.url={}", redis.url()),
        "intake.listen=127.0.0.1:0".to_owned(),
        "intake.metrics_listen=127.0.0.1:0".to_owned(),
        "intake.drain_delay=5s".to_owned(),
    ];
    let arguments = ["intake", "-c", &file].into_iter().chain(settings.iter().flat_map(|set| ["--set", set]));
    let intake = Running::start(&mut dripfeed(&arguments.collect::<Vec<_>>()));
    let server = intake.address();
    let metrics = intake.says("metrics, without a key, on http://");
    let metrics = metrics[metrics.find("http").unwrap()..].split('"').next().unwrap().to_owned();
    assert_eq!(status(&metrics, "/metrics"), 200);
    assert_eq!(status(&server, "/readyz"), 200);
    intake.signal(Signal::SIGTERM);
    while status(&server, "/readyz") == 200 {}
    assert_eq!(status(&server, "/readyz"), 503);
    assert_eq!(status(&server, "/livez"), 200);
    let pushed = run_with_input(&["push", "one", "--server", &server, "--ndjson", "-"], "{\"body\": 1}\n");
    assert_eq!(pushed.code, Some(0), "{}", pushed.err);
    assert_eq!(intake.end(), Some(0));
    redis.stop().await.unwrap();
}
