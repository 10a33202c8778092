use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::program::{Ended, dripfeed, ended, run};

fn shows_nothing(of: &str, ended: &Ended) {
    let shown = format!("{}{}", ended.out, ended.err);
    assert!(!shown.contains("canary"), "{of}: {shown}");
}

#[test]
fn the_password_of_a_url_is_shown_nowhere() {
    for url in ["http://user:canary@127.0.0.1:1", "http://user:canary@h:1:1", "http://user:canary @h", "user:canary@h"]
    {
        for command in [&["buckets"][..], &["push", "mail", "--body", "x"], &["jobs", "mail"], &["top", "--once"]] {
            let ended = run(&[command, &["--server", url]].concat());
            assert_eq!(ended.code, Some(2), "{command:?} {url}: {}", ended.err);
            shows_nothing(url, &ended);
        }
        let ready = run(&["ready", url]);
        assert_eq!(ready.code, Some(2), "{url}: {}", ready.err);
        shows_nothing(url, &ready);
        let help = ended(dripfeed(&["push", "--help"]).env("DRIPFEED_SERVER", url).output().unwrap());
        assert_eq!(help.code, Some(0));
        shows_nothing(url, &help);
    }
    for url in ["redis://:canary@127.0.0.1:x", "redis:canary", "redis://user:canary@h/#"] {
        shows_nothing(url, &run(&["lab", "--out", "/dev/null", "--redis", url]));
        shows_nothing(url, &run(&["--set", &format!("redis.url={url}"), "check"]));
        shows_nothing(url, &run(&["--set", &format!("redis.url {url}"), "check"]));
    }
}

#[test]
fn a_variable_that_is_not_utf_8_is_an_error() {
    for (name, code) in [("DRIPFEED_KEY", 78), ("DRIPFEED_SERVER", 2), ("DRIPFEED__REDIS__URL", 78)] {
        let command = if name.contains("__") { "check" } else { "buckets" };
        let value = OsStr::from_bytes(b"redis://:canary@h\xff");
        let ended = ended(dripfeed(&[command]).env(name, value).output().unwrap());
        assert_eq!(ended.code, Some(code), "{name}: {}", ended.err);
        assert!(ended.err.contains(name) && ended.err.contains("UTF-8"), "{name}: {}", ended.err);
        shows_nothing(name, &ended);
    }
    let mut others = dripfeed(&["--set", "log.level=loud", "check"]);
    let others = ended(others.env("DRIPFEED__REDIS__URL", OsStr::from_bytes(b"\xff")).output().unwrap());
    assert!(others.err.contains("UTF-8") && others.err.contains("log.level"), "{}", others.err);
    let name = OsStr::from_bytes(b"DRIPFEED__BUCKETS__caf\xe9__CAPACITY");
    let ended = ended(dripfeed(&["check"]).env(name, "5").output().unwrap());
    assert_eq!(ended.code, Some(78), "{}", ended.err);
}
