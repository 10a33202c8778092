use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use crate::program::{Running, dripfeed, redis, run, write};

#[test]
fn a_file_that_is_cut_off_is_reported_in_words_wherever_it_is_named() {
    let folder = TempDir::new().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let whole = made.cert.pem();
    let cut = write(folder.path(), "cut.pem", &whole[..whole.len() / 2]);
    set_permissions(&cut, Permissions::from_mode(0o600)).unwrap();
    let of_redis = format!("redis.url=rediss://127.0.0.1:1?ca={cut}");
    let of_upstream = format!("defaults.upstream_ca_file={cut}");
    let of_intake = format!("intake.tls_cert={cut}");
    let key = format!("intake.tls_key={cut}");
    let server = "https://127.0.0.1:1";
    for arguments in [
        vec!["check", "--set", &of_redis],
        vec!["check", "--set", &of_upstream, "--set", "buckets.a.upstream=https://localhost"],
        vec!["check", "--set", &of_intake, "--set", &key],
        vec!["buckets", "--server", server, "--ca", &cut],
    ] {
        let ended = run(&arguments);
        assert_eq!(ended.code, Some(78), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("is the file complete?") && !ended.err.contains("[67"), "{}", ended.err);
    }
}

/// Clients refuse it, and the intake sees only broken handshakes.
#[tokio::test]
async fn a_certificate_that_has_expired_or_soon_will_is_warned_of() {
    let (folder, redis) = redis(&[]).await;
    let settings = |year: i32| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 1, 31);
        let certificate = params.self_signed(&key).unwrap();
        let private = write(folder.path(), "key.pem", &key.serialize_pem());
        set_permissions(&private, Permissions::from_mode(0o600)).unwrap();
        let certificate = write(folder.path(), "cert.pem", &certificate.pem());
        [
            format!("redis.url={}", redis.url()),
            "intake.listen=127.0.0.1:0".to_owned(),
            format!("intake.tls_cert={certificate}"),
            format!("intake.tls_key={private}"),
        ]
    };
    let warning = "the certificate in intake.tls_cert has expired at 2001-01-31T00:00:00Z";
    for (year, is_warned) in [(2001, true), (4096, false)] {
        let settings = settings(year);
        let with = |command: &'static str| {
            [command].into_iter().chain(settings.iter().flat_map(|set| ["--set", set])).collect::<Vec<_>>()
        };
        for command in ["check", "doctor"] {
            let ended = run(&with(command));
            assert_eq!(ended.code, Some(0), "{command}: {}", ended.err);
            assert_eq!((ended.out + &ended.err).contains(warning), is_warned, "{command} {year}");
        }
        let intake = Running::start(&mut dripfeed(&with("intake")));
        if is_warned {
            intake.says(warning);
        }
        intake.address();
        assert_eq!(intake.end(), Some(0));
    }
    redis.stop().await.unwrap();
}
