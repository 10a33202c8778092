//! A role goes on checking what its user of Redis may do: it isn't ready while that isn't enough.

use dripfeed_tests::client::Client;

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
        let settings = guarded.redis.folder().join("dripfeed.toml");
        let text = format!(
            "redis.url = \"{}\"\nintake.listen = \"127.0.0.1:0\"\n[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n",
            guarded.url()
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
async fn where_the_acl_cannot_be_asked_a_script_finds_what_is_missing() {
    let running = Running::without(&["-acl|dryrun"]).await;
    running.loses("xadd").await;
    running.says(&["'xadd'"]).await;
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
