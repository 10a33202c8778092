use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::intake::{BUCKET, Intake};
use crate::program::{dripfeed, run, write};

#[tokio::test]
async fn keys_open_and_their_absence_is_not_allowed() {
    // Of `opensesame`.
    let key = r#"
        [[keys]]
        id = "shop"
        sha256 = "HASH"
        scopes = ["read"]
    "#;
    let hash = "d9fb92e3bbe65be1f1aad4a82eef4567f7a1ebe2cd110c8049b9698be7a70c88";
    let intake = Intake::start(&format!("{BUCKET}{}", key.replace("HASH", hash))).await;
    let file = write(intake.folder.path(), "key", "opensesame\n");
    let with_key = |command: &[&str]| run(&[command, &["--server", &intake.server, "--key-file", &file]].concat());

    let without = run(&["buckets", "--server", &intake.server]);
    assert!(without.code == Some(77) && without.err.contains("--key-file or DRIPFEED_KEY"), "{}", without.err);
    assert_eq!(with_key(&["buckets"]).code, Some(78), "a key that everyone can read");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(with_key(&["buckets"]).code, Some(0));
    assert_eq!(with_key(&["pause", "mail"]).code, Some(77), "the scope is missing");
    let mut by_variable = dripfeed(&["buckets", "--server", &intake.server]);
    assert_eq!(by_variable.env("DRIPFEED_KEY", "opensesame").output().unwrap().status.code(), Some(0));
    intake.end().await;
}

#[tokio::test]
async fn a_new_key_opens_once_its_section_is_configured() {
    let made = run(&["key", "new", "--id", "shop"]);
    assert_eq!((made.code, made.out.lines().count()), (Some(0), 1), "{}", made.err);
    assert!(!made.err.contains(made.out.trim()), "the key is printed once");
    let json: serde_json::Value = serde_json::from_str(&run(&["key", "new", "-o", "json"]).out).unwrap();
    let (other, hash) = (json["key"].as_str().unwrap(), json["section"]["sha256"].as_str().unwrap());
    assert!(other.len() > 43 && other != made.out.trim(), "{other}");
    // The same id: both keys hold, until the one that is replaced is taken out.
    let second = format!("[[keys]]\nid = \"shop\"\nsha256 = \"{hash}\"\nscopes = [\"read\"]\n");
    let intake = Intake::start(&format!("{BUCKET}\n{}\n{second}", made.err)).await;
    for (key, code) in [(made.out.trim(), 0), (other, 0), ("dripfeed_", 77)] {
        let mut buckets = dripfeed(&["buckets", "--server", &intake.server]);
        assert_eq!(buckets.env("DRIPFEED_KEY", key).output().unwrap().status.code(), Some(code), "{key}");
    }
    assert_eq!(run(&["key", "new", "--id", "a b"]).code, Some(2));
    intake.end().await;
}

#[tokio::test]
async fn a_key_is_made_shown_and_revoked_at_run_time() {
    let made: serde_json::Value = serde_json::from_str(&run(&["key", "new", "-o", "json"]).out).unwrap();
    let hash = made["section"]["sha256"].as_str().unwrap();
    let section = format!("[[keys]]\nid = \"platform\"\nsha256 = \"{hash}\"\nscopes = [\"read\", \"keys\"]\n");
    let intake = Intake::start(&format!("{BUCKET}\n{section}")).await;
    let file = write(intake.folder.path(), "key", made["key"].as_str().unwrap());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let key = |command: &[&str]| run(&[&["key"], command, &["--server", &intake.server, "--key-file", &file]].concat());
    let put = key(&["put", "a/b", "--scope", "read", "--bucket", "ma*", "--not-after", "2100-01-01T00:00:00Z"]);
    assert_eq!((put.code, put.out.lines().count()), (Some(0), 1), "{}", put.err);
    assert!(!put.err.contains(put.out.trim()), "the key is printed once");
    let buckets = |key: &str| {
        let mut buckets = dripfeed(&["buckets", "--server", &intake.server]);
        buckets.env("DRIPFEED_KEY", key).output().unwrap().status.code()
    };
    assert_eq!(buckets(put.out.trim()), Some(0));
    let shown: serde_json::Value = serde_json::from_str(&key(&["show", "a/b", "-o", "json"]).out).unwrap();
    assert_eq!((&shown["buckets"][0], &shown["changed_by"]), (&"ma*".into(), &"platform".into()), "{shown}");
    let list = key(&["list"]).out;
    assert!(list.contains("a/b") && list.contains("2100-01-01") && !list.contains(put.out.trim()), "{list}");
    let again = key(&["put", "a/b", "--scope", "read", "--bucket", "mail", "--if-match", "7"]);
    assert_eq!(again.code, Some(1), "another version: {}", again.err);
    let version = shown["version"].as_str().unwrap();
    assert_eq!(key(&["put", "a/b", "--scope", "read", "--bucket", "mail", "--if-match", version]).code, Some(0));
    assert_eq!(key(&["put", "child", "--scope", "operate", "--bucket", "mail"]).code, Some(77), "more than its own");
    assert_eq!(key(&["delete", "a/b"]).code, Some(0));
    assert_eq!(buckets(put.out.trim()), Some(77));
    assert_eq!(key(&["show", "a/b"]).code, Some(1));
    intake.end().await;
}

#[tokio::test]
async fn put_with_create_replaces_nothing() {
    let made: serde_json::Value = serde_json::from_str(&run(&["key", "new", "-o", "json"]).out).unwrap();
    let hash = made["section"]["sha256"].as_str().unwrap();
    let scopes = r#"["submit", "read", "operate", "define", "keys"]"#;
    let section = format!("[[keys]]\nid = \"platform\"\nsha256 = \"{hash}\"\nscopes = {scopes}\n");
    let define = "[define]\nupstreams = [\"https://*.partner.example\"]\n";
    let intake = Intake::start(&format!("{BUCKET}\n{section}\n{define}")).await;
    let file = write(intake.folder.path(), "key", made["key"].as_str().unwrap());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let run = |command: &[&str]| run(&[command, &["--server", &intake.server, "--key-file", &file]].concat());
    let bucket = ["bucket", "put", "team-a", "--upstream", "https://api.partner.example/"];
    for put in [
        bucket.as_slice(),
        &["schedule", "mail", "put", "nightly", "--every", "1h", "--body", "1"],
        &["key", "put", "robot", "--scope", "submit", "--bucket", "mail"],
    ] {
        let create = [put, &["--create"]].concat();
        let created = run(&create);
        assert_eq!(created.code, Some(0), "{put:?} {}", created.err);
        let again = run(&create);
        assert_eq!((again.code, again.out.as_str()), (Some(1), ""), "{put:?} {}", again.err);
        assert!(again.err.contains("exists"), "{put:?} {}", again.err);
        assert_eq!(run(put).code, Some(0), "{put:?}");
    }
    assert_eq!(run(&[&bucket[..], &["--create", "--if-match", "1"]].concat()).code, Some(2), "at most one of them");
    intake.end().await;
}
