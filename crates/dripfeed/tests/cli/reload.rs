use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::program::{Running, dripfeed, redis, run, write};

const ONE: &str = "[buckets.one]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 10\n";
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
    processor.says("bucket=one");
    let reload = |settings: &str, says: &str| {
        fs::write(&file, settings).unwrap();
        for role in [&intake, &processor] {
            role.signal(Signal::SIGHUP);
            role.says(says);
        }
    };
    let buckets = || run(&["buckets", "--server", &server]).out;

    reload(&format!("{ONE}{TWO}").replace("capacity = 10", "capacity = 20"), "settings are read again");
    assert!(buckets().contains("two") && buckets().contains("0 of 20"), "{}", buckets());
    processor.says("bucket=two");

    reload("[buckets.one]\ncapacity = 0\n", "settings are kept as they were");
    assert!(buckets().contains("two") && buckets().contains("0 of 20"), "{}", buckets());

    reload(&format!("{ONE}[processor]\nlease = \"20s\"\n"), "[processor] has changed, which takes a restart");
    processor.says("This replica has left");
    assert!(!buckets().contains("two"), "{}", buckets());

    assert_eq!((intake.end(), processor.end()), (Some(0), Some(0)));
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
async fn another_certificate_takes_no_restart() {
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
    intake.says("settings are read again");
    assert!(buckets(&certificate).out.contains("one"));
    assert_eq!(buckets(&old).code, Some(69), "{}", buckets(&old).err);

    fs::write(&certificate, "no certificate").unwrap();
    intake.signal(Signal::SIGHUP);
    intake.says("intake.tls_cert");
    assert_eq!(buckets(&file).code, Some(78), "a file without certificates");
    assert_eq!(intake.end(), Some(0));
    redis.stop().await.unwrap();
}
