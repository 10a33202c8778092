//! A role checks at its start what its user of Redis may do.

use super::*;

/// Settings of a stream and a list, and one more stream with another key than ours.
fn configure(guarded: &Guarded, more: &str) -> std::path::PathBuf {
    let settings = guarded.redis.folder().join("dripfeed.toml");
    let of = |name, kind| format!("[buckets.{name}]\nkind = \"{kind}\"\nupstream = \"http://127.0.0.1:1/\"\n");
    let common = format!(
        "redis.url = \"{}\"\n{TIMEOUTS}intake.listen = \"127.0.0.1:0\"\nprocessor.listen = \"127.0.0.1:0\"\n",
        guarded.url()
    );
    fs::write(&settings, common + &of("stream", "stream") + &of("list", "list") + more).expect("a file");
    settings
}

/// Runs a role that is to refuse its start: its exit code, and what it says.
async fn refused(settings: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = command(["-c".as_ref(), settings.as_os_str()]);
    let ended = command.args(arguments).output().await.expect("the executable");
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[tokio::test]
async fn a_role_refuses_to_start_under_the_acl_of_an_earlier_version() {
    let guarded = Guarded::start().await;
    let settings = configure(&guarded, "");
    // The first rejected call of these would be that of a job's way, not of the start.
    guarded.set_user(["-zcount", "-xgroup|setid", "-lset", "resetchannels"]).await;
    for role in [&["intake"][..], &["processor"], &["drain", "stream"]] {
        let (code, log) = refused(&settings, role).await;
        assert_eq!(code, Some(77), "{role:?}: {log}");
        for part in ["'zcount'", "+xgroup|setid", "+zcount", "&dripfeed:*", "redis-acl.conf"] {
            assert!(log.contains(part), "{role:?}: {part}: {log}");
        }
        // That bucket alone is drained.
        assert_eq!(log.contains("+lset"), role[0] != "drain", "{role:?}: {log}");
        assert!(!log.contains("listening on"), "{role:?}: {log}");
    }
    guarded.set_user(["+zcount", "+xgroup|setid", "+lset", "&dripfeed:*"]).await;
    let start = |role| {
        let mut command = command(["-c".as_ref(), settings.as_os_str()]);
        command.arg(role);
        Process::start(role, command)
    };
    let (intake, processor) = (start("intake").await, start("processor").await);
    for process in [intake, processor] {
        assert!(!process.log().contains("ACL"), "{}", process.log());
    }
}

#[tokio::test]
async fn a_role_without_buckets_refuses_to_start_too() {
    let guarded = Guarded::start().await;
    let settings = guarded.redis.folder().join("dripfeed.toml");
    let text = format!("redis.url = \"{}\"\n{TIMEOUTS}intake.listen = \"127.0.0.1:0\"\n", guarded.url());
    fs::write(&settings, text).expect("a file");
    // Counters of a service's limits would be written in part.
    guarded.set_user(["-setrange"]).await;
    let (code, log) = refused(&settings, &["intake"]).await;
    assert!(code == Some(77) && log.contains("+setrange"), "{log}");
}

#[tokio::test]
async fn a_key_that_the_user_may_not_use_is_found_whichever_bucket_has_it() {
    let guarded = Guarded::start().await;
    let other = "[buckets.other]\nkey = \"elsewhere\"\nupstream = \"http://127.0.0.1:1/\"\n";
    let settings = configure(&guarded, other);
    let (code, log) = refused(&settings, &["intake"]).await;
    assert_eq!(code, Some(77), "{log}");
    assert!(log.contains("~elsewhere") && !log.contains("+"), "{log}");
    // A processor of the other buckets has no use for it.
    let mut command = command(["-c".as_ref(), settings.as_os_str()]);
    command.args(["--set", "processor.buckets=[\"stream\", \"list\"]", "processor"]);
    Process::start("processor", command).await;
}

#[tokio::test]
async fn missing_permissions_for_reloaded_settings_are_reported() {
    let guarded = Guarded::start().await;
    let settings = configure(&guarded, "");
    let start = |role| {
        let mut command = command(["-c".as_ref(), settings.as_os_str()]);
        command.arg(role);
        Process::start(role, command)
    };
    let roles = [start("intake").await, start("processor").await];
    configure(&guarded, "[buckets.other]\nkey = \"elsewhere\"\nupstream = \"http://127.0.0.1:1/\"\n");
    for role in &roles {
        role.hang_up();
        let has_both = || ["settings reloaded", "add `~elsewhere`"].iter().all(|said| role.log().contains(said));
        until("it has reloaded, and names the rule that is missing", async || has_both()).await;
    }
}

#[tokio::test]
async fn without_channels_a_role_starts_and_says_what_is_missing() {
    let guarded = Guarded::start().await;
    let settings = configure(&guarded, "");
    for missing in [&["resetchannels"][..], &["-publish", "-subscribe"]] {
        guarded.set_user(missing.iter().copied()).await;
        for role in ["intake", "processor"] {
            let mut command = command(["-c".as_ref(), settings.as_os_str()]);
            command.arg(role);
            let process = Process::start(role, command).await;
            let log = process.log();
            assert!(log.contains("a second later") && log.contains("&dripfeed:*"), "{missing:?}: {log}");
        }
        let mut command = command(["-c".as_ref(), settings.as_os_str()]);
        let checked = command.args(["check", "--connect"]).output().await.expect("the executable");
        let said = String::from_utf8_lossy(&checked.stdout);
        assert!(checked.status.success() && said.contains("warning: bucket stream: jobs and"), "{missing:?}: {said}");
    }
}

#[tokio::test]
async fn a_role_starts_when_the_acl_cannot_be_checked() {
    let guarded = Guarded::start().await;
    let settings = configure(&guarded, "");
    for question in ["acl|whoami", "acl|dryrun"] {
        guarded.set_user([format!("-{question}").as_str()]).await;
        for role in ["intake", "processor"] {
            let mut command = command(["-c".as_ref(), settings.as_os_str()]);
            command.arg(role);
            let process = Process::start(role, command).await;
            assert!(process.log().contains("the Redis ACL could not be checked"), "{}", process.log());
        }
        guarded.set_user([format!("+{question}").as_str()]).await;
    }
}
