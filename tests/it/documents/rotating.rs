//! Secrets are changed as the operations guide says, and nobody is refused meanwhile.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use dripfeed_tests::client::Client;
use dripfeed_tests::redis_server::RunningRedis as _;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::sources::from_the_root;
use dripfeed_tests::upstream::{Call, Upstream};
use sha2::{Digest, Sha256};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

/// The section of a key of the caller `shop`.
fn section(key: &str) -> String {
    let hash = Sha256::digest(key).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a text");
        text
    });
    format!("[[keys]]\nid = \"shop\"\nsha256 = \"{hash}\"\nscopes = [\"submit\"]\n")
}

async fn status(client: &Client, key: &str) -> u16 {
    client.with_key(key).submit("b", "x").await.expect("an answer").status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_old_key_works_until_it_is_removed() {
    let service = Service::new(&(BUCKET.to_owned() + &section("old"))).await;
    let intake = service.intake().await;
    let client = intake.client();
    let old = client.with_key("old").submit_once("b", "order", "x").await.expect("an answer").text("id");

    service.configure(&(BUCKET.to_owned() + &section("old") + &section("new")));
    intake.hang_up();
    until("the new key is known", async || status(&client, "new").await == 202).await;
    assert_eq!(status(&client, "old").await, 202);
    let new = client.with_key("new").submit_once("b", "order", "x").await.expect("an answer").text("id");
    assert_eq!(new, old, "it is the same caller");

    service.configure(&(BUCKET.to_owned() + &section("new")));
    intake.hang_up();
    until("the old key is forgotten", async || status(&client, "old").await == 401).await;
    assert_eq!(status(&client, "new").await, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstreams_credentials_and_its_signing_secrets_change_on_a_signal() {
    let upstream = Upstream::willing().await;
    let folder = tempfile::tempdir().expect("a folder");
    let (headers, secrets) = (folder.path().join("headers"), folder.path().join("secrets"));
    let write = |token: &str, lines: &str| {
        for (file, text) in [(&headers, format!("Authorization: Bearer {token}\n").as_str()), (&secrets, lines)] {
            fs::write(file, text).expect("a file");
            fs::set_permissions(file, Permissions::from_mode(0o600)).expect("our file");
        }
    };
    let old = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk";
    write("old", old);
    let url = upstream.url();
    let service = Service::new(&format!(
        "[buckets.b]\nupstream = \"{url}\"\nheaders_file = {headers:?}\nsigning_secret_file = {secrets:?}\n"
    ))
    .await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let client = intake.client();
    client.submit("b", "x").await.expect("an answer");
    upstream.has_got(1).await;
    let seen = |call: &Call| {
        let text = |name| call.headers[name].to_str().expect("text").to_owned();
        (text("authorization"), text("webhook-signature").split(' ').count())
    };
    assert_eq!(seen(&upstream.calls()[0]), ("Bearer old".to_owned(), 1));

    write("new", &format!("whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3\n{old}\n"));
    processor.hang_up();
    until("the upstream gets the new ones", async || {
        let before = upstream.count();
        client.submit("b", "x").await.expect("an answer");
        upstream.has_got(before + 1).await;
        seen(&upstream.calls()[before]) == ("Bearer new".to_owned(), 2)
    })
    .await;
}

/// What the guide types to change the password, one command after the other.
fn commands() -> [String; 2] {
    let guide = fs::read_to_string(from_the_root("config/README.md")).expect("the guide");
    let typed = guide.lines().filter_map(|line| line.strip_prefix("    $ redis-cli ACL SETUSER dripfeed '"));
    let rules: Vec<String> = typed.filter_map(|rest| Some(rest.strip_suffix('\'')?.to_lowercase())).collect();
    let rules: [String; 2] = rules.try_into().expect("two commands");
    rules.map(|rule| format!("ACL SETUSER dripfeed {rule}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_password_of_redis_changes_while_roles_are_restarted_one_by_one() {
    let service = Service::new(BUCKET).await;
    service.redis::<()>("ACL SETUSER dripfeed on ~* &* +@all >old").await;
    let with = |password: &str| format!("redis.url=\"{}?user=dripfeed&pass={password}\"", service.redis.url());
    let mut first = service.role("intake", &[&with("old")]).await;
    assert_eq!(first.client().submit("b", "x").await.expect("an answer").status, 202);
    let [add, drop] = commands();
    service.redis::<()>(&add).await;
    let second = service.role("intake", &[&with("new")]).await;
    for intake in [&first, &second] {
        assert_eq!(intake.client().submit("b", "x").await.expect("an answer").status, 202);
    }
    first.terminate();
    assert!(first.ended().await.success());
    service.redis::<()>(&drop).await;
    assert_eq!(second.client().submit("b", "x").await.expect("an answer").status, 202);
    let refused = service.command(&[&with("old")]).args(["check", "--connect"]).output().await.expect("the executable");
    assert!(!refused.status.success(), "the old password is gone: {refused:?}");
}
