//! A role goes on checking what its user of Redis may do: it isn't ready while that isn't enough.

use dripfeed_tests::client::Client;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};

use super::*;
use crate::redis::readiness::until_ready;

struct Running {
    guarded: Guarded,
    intake: Process,
}

impl Running {
    /// An intake of a stream, whose user lacks `missing` from the start on.
    async fn without(missing: &[&str]) -> Self {
        let guarded = Guarded::start().await;
        guarded.set_user(missing.iter().copied()).await;
        let url = guarded.url();
        Self::of(guarded, &url).await
    }

    async fn of(guarded: Guarded, url: &str) -> Self {
        let settings = guarded.redis.folder().join("dripfeed.toml");
        let text = format!(
            "redis.url = \"{url}\"\n{TIMEOUTS}intake.listen = \"127.0.0.1:0\"\n\
             [buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n"
        );
        fs::write(&settings, text).expect("a file of settings");
        let mut command = command(["-c".as_ref(), settings.as_os_str()]);
        command.arg("intake");
        Self { guarded, intake: Process::start("intake", command).await }
    }

    /// Takes a command away, then gives it back: meanwhile the intake isn't ready.
    async fn loses(&self, command: &str) {
        let client = self.intake.client();
        until_ready(&client, true).await;
        self.guarded.set_user([format!("-{command}").as_str()]).await;
        assert_eq!(submitted(&client).await, 503, "{command}");
        let refused = until_ready(&client, false).await.json();
        assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("denies access")), "{refused}");
        self.guarded.set_user([format!("+{command}").as_str()]).await;
        until_ready(&client, true).await;
        assert_eq!(submitted(&client).await, 202, "{command}");
    }

    async fn says(&self, words: &[&str]) {
        let has_all = || words.iter().all(|words| self.intake.log().contains(words));
        until("the log says so", async || has_all()).await;
    }
}

async fn submitted(client: &Client) -> u16 {
    client.submit("b", "x").await.expect("an answer").status
}

#[tokio::test]
async fn without_what_every_script_needs_a_role_is_not_ready() {
    Running::without(&[]).await.loses("evalsha").await;
}

#[tokio::test]
async fn without_a_command_of_a_script_a_role_is_not_ready_and_names_it() {
    let running = Running::without(&[]).await;
    running.loses("xadd").await;
    running.says(&["'xadd'", "add `+xadd` to the Redis user", "the Redis ACL grants"]).await;
}

#[tokio::test]
async fn a_job_that_is_stored_is_accepted_though_its_answer_cannot_be_kept() {
    let running = Running::without(&[]).await;
    let client = running.intake.client();
    running.guarded.set_user(["-set"]).await;
    assert_eq!(submitted(&client).await, 202);
    let mut length = redis::cmd("XLEN");
    length.arg("dripfeed:{b}:jobs");
    assert_eq!(running.guarded.admin.command::<u64>(&length).await.unwrap(), 1);
    running.says(&["'set'"]).await;
}

#[tokio::test]
async fn without_acl_dryrun_a_script_finds_missing_permissions() {
    let running = Running::without(&["-acl|dryrun"]).await;
    running.loses("xadd").await;
    running.says(&["'xadd'"]).await;
}

/// Before Redis 7.0: nothing can be asked, and a script can't have flags.
#[tokio::test]
async fn without_script_flags_failing_calls_find_missing_permissions() {
    let guarded = Guarded::start().await;
    guarded.set_user(["-acl|dryrun"]).await;
    let proxy = RedisFaultProxy::before(&guarded.redis).await;
    let words = "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    proxy.plan("denied", ProxyFault::Error(words), u64::MAX);
    let url = proxy.url().replace("redis://", &format!("redis://dripfeed:{PASSWORD}@"));
    let running = Running::of(guarded, &url).await;
    let client = running.intake.client();
    until_ready(&client, true).await;
    for command in ["xadd", "hincrby", "set", "mset", "zunionstore"] {
        running.guarded.set_user([format!("-{command}").as_str()]).await;
        until_ready(&client, false).await;
        running.says(&[&format!("denies access (the command '{command}'): add `+{command}`")]).await;
        running.guarded.set_user([format!("+{command}").as_str()]).await;
        until_ready(&client, true).await;
    }
    assert_eq!(submitted(&client).await, 202);

    // It leaves nothing behind, also without the command that deletes.
    let keys = async || {
        let found: Vec<String> = running.guarded.admin.command(redis::cmd("KEYS").arg("*@nothing*")).await.unwrap();
        found
    };
    assert_eq!(keys().await, Vec::<String>::new());
    running.guarded.set_user(["-del"]).await;
    proxy.answered("denied_by_type").await;
    until("its key has expired", async || keys().await.is_empty()).await;

    // A full Redis grants nothing, and denies nothing.
    running.guarded.set_user(["+del", "-xadd"]).await;
    until_ready(&client, false).await;
    let full = async |bytes: &str| {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg("maxmemory").arg(bytes);
        running.guarded.admin.command::<()>(&set).await.unwrap();
    };
    let granted = || running.intake.log().matches("the Redis ACL grants").count();
    let before = granted();
    full("1").await;
    proxy.answered("denied_by_type").await;
    assert_eq!(granted(), before);
    full("0").await;
    running.guarded.set_user(["+xadd"]).await;
    until_ready(&client, true).await;
}

#[tokio::test]
async fn without_messages_a_role_stays_ready() {
    let running = Running::without(&[]).await;
    running.guarded.set_user(["-publish"]).await;
    running.says(&["a second later", "+publish"]).await;
    let client = running.intake.client();
    until_ready(&client, true).await;
    assert_eq!(submitted(&client).await, 202);
}
