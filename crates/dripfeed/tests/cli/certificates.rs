use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use crate::program::{run, write};

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
