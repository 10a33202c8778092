//! The user of Redis that `config/deploy/redis-acl.conf` grants: every step of a job works under it, and it may do
//! nothing else.

mod at_run_time;
mod at_start;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use dripfeed_bucket::*;
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{join, silence};
use dripfeed_tests::lifecycles::{go_all_ways, go_the_ways_of_a_stream, settings};
use dripfeed_tests::processes::{Process, command};
use dripfeed_tests::redis_server::{TestRedis, patient};
use dripfeed_tests::service::{TIMEOUTS, until};
use dripfeed_tests::sources::{from_the_root, of_the_product};
use dripfeed_tests::upstream::Upstream;
use http::Method;
use redis::InfoDict;
use serde_json::json;

const PASSWORD: &str = "opensesame";

/// What no test here needs: Cluster, Sentinel, another database, confirmation by replicas, and another's lease.
const ELSEWHERE: [&str; 7] = ["asking", "cluster|info", "cluster|slots", "pttl", "role", "select", "wait"];

/// The rules of the one user in the file, as ACL SETUSER takes them.
fn rules() -> Vec<String> {
    let file = fs::read_to_string(from_the_root("config/deploy/redis-acl.conf")).expect("the file is there");
    let mut lines = file.lines().filter(|line| !line.starts_with('#'));
    let user = lines.next().expect("a line that is no comment");
    assert_eq!(lines.next(), None, "one user");
    user.strip_prefix("user dripfeed ").expect("our user").split(' ').map(str::to_owned).collect()
}

/// The commands that the file grants, such as `hget` and `xgroup|create`.
fn granted() -> BTreeSet<String> {
    rules().iter().filter_map(|rule| rule.strip_prefix('+')).map(str::to_owned).collect()
}

/// A Redis with our user in it.
struct Guarded {
    redis: TestRedis,
    admin: Store,
}

impl Guarded {
    async fn start() -> Self {
        let redis = TestRedis::start().await;
        let admin = redis.store().await;
        let guarded = Self { redis, admin };
        guarded.set_user(rules().iter().map(String::as_str)).await;
        guarded.set_user([format!(">{PASSWORD}").as_str()]).await;
        guarded
    }

    async fn set_user<'a>(&self, rules: impl IntoIterator<Item = &'a str>) {
        let mut set = redis::cmd("ACL");
        set.arg("SETUSER").arg("dripfeed");
        rules.into_iter().for_each(|rule| {
            set.arg(rule);
        });
        self.admin.command::<()>(&set).await.expect("a rule that Redis knows");
    }

    fn url(&self) -> String {
        format!("{}?user=dripfeed&pass={PASSWORD}", self.redis.server.url())
    }

    /// As our user.
    async fn store(&self) -> Store {
        let address = self.url().parse().expect("an address");
        Store::connect(&patient(address, Durability::Everysec)).await.expect("our user may enter")
    }

    async fn bucket(&self, settings: BucketSettings) -> Bucket {
        Bucket::new(self.store().await, settings)
    }

    /// The commands that were called so far, and how often each was denied.
    async fn called(&self) -> BTreeMap<String, u64> {
        let info: InfoDict = self.admin.command(redis::cmd("INFO").arg("commandstats")).await.expect("statistics");
        let called = granted().into_iter().filter_map(|command| {
            let statistics: String = info.get(&format!("cmdstat_{command}"))?;
            let rejected = statistics.split(',').find_map(|part| part.strip_prefix("rejected_calls="));
            Some((command, rejected.and_then(|calls| calls.parse().ok()).expect("a number")))
        });
        called.collect()
    }
}

#[tokio::test]
async fn every_journey_goes_under_the_acl_and_every_grant_is_used() {
    let guarded = Guarded::start().await;
    for kind in [Kind::Stream, Kind::List] {
        guarded.admin.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        let store = guarded.store().await;
        let bucket = guarded.bucket(settings("b", kind)).await;
        let limit = json!({ "id": "all", "tiers": [{ "kind": "fixed", "limit": 1_000_000, "period": "1d" }] });
        bucket.set_limits(&BucketLimits::read("limits", vec![limit]).expect("a limit"));
        go_all_ways(&bucket, &store).await;
        if kind == Kind::Stream {
            go_the_ways_of_a_stream(&bucket, &guarded.admin).await;
        }
        if kind == Kind::List {
            // What somebody else has put into a replica's own list.
            let replica = join(&bucket, "l").await;
            let mut push = redis::cmd("LPUSH");
            push.arg("dripfeed:{b}:taken:l").arg("foreign");
            guarded.admin.command::<u64>(&push).await.unwrap();
            replica.leave().await.unwrap();
            assert_eq!(bucket.purge().await.unwrap(), 1);
        }
    }
    let called = guarded.called().await;
    let denied: Vec<_> = called.iter().filter(|(_, rejected)| **rejected > 0).collect();
    assert!(denied.is_empty(), "denied: {denied:?}");
    let unused: Vec<_> = granted().into_iter().filter(|command| !called.contains_key(command)).collect();
    assert_eq!(unused, ELSEWHERE, "granted, and never called");
}

#[tokio::test]
async fn each_missing_acl_permission_is_reported() {
    let guarded = Guarded::start().await;
    let replicated = BucketSettings { durability: Durability::Replicated, ..settings("b", Kind::List) };
    let buckets = [guarded.bucket(settings("b", Kind::Stream)).await, guarded.bucket(replicated).await];
    // Who lacks these is reported so in other words, or at once.
    let otherwise = ["asking", "cluster|info", "cluster|slots", "select"];
    for command in granted() {
        guarded.set_user([format!("-{command}").as_str()]).await;
        let mut denials = Vec::new();
        for bucket in &buckets {
            denials.push(bucket.denied().await.unwrap());
        }
        guarded.set_user([format!("+{command}").as_str()]).await;
        if command.starts_with("acl|") {
            assert!(denials.iter().all(Option::is_none), "{command}: {denials:?}");
            continue;
        }
        let named = denials.iter().flatten().flatten().any(|denial| denial.contains(&format!("'{command}'")));
        assert_eq!(named, !otherwise.contains(&&*command), "{command}: {denials:?}");
    }
    let elsewhere =
        guarded.bucket(BucketSettings { key: Some("elsewhere".to_owned()), ..settings("b", Kind::Stream) }).await;
    let denials = elsewhere.denied().await.unwrap().unwrap();
    assert!(denials.iter().all(|denial| denial.contains("'elsewhere' key")) && !denials.is_empty(), "{denials:?}");
}

#[test]
fn every_command_in_the_sources_is_granted() {
    let granted = granted();
    let is_granted = |command: &str| {
        let command = command.to_lowercase().replace("', '", "|");
        granted.iter().any(|grant| grant == &command || grant.split('|').next() == Some(&command))
    };
    let (scripts, sources) = (of_the_product("lua"), of_the_product("rs"));
    assert!(scripts.len() > 40 && sources.len() > 40, "{scripts:?} {sources:?}");
    for (file, before, after) in scripts
        .iter()
        .flat_map(|file| [(file, "redis.call('", '\''), (file, "redis.pcall('", '\'')])
        .chain(sources.iter().map(|file| (file, "cmd(\"", '"')))
    {
        let source = fs::read_to_string(file).expect("a source");
        for called in source.split(before).skip(1) {
            let mut command = called.split(after).next().expect("the name of a command");
            // Of these each subcommand is granted for itself.
            if after == '\'' && ["XGROUP", "XINFO"].contains(&command) {
                let end = called.match_indices(after).nth(2).expect("a subcommand").0;
                command = &called[..end];
            }
            // The first is for Sentinel, the second for the private server of `dripfeed dev`; the others need a further
            // grant: for durability fsync, and for slow scripts.
            assert!(
                is_granted(command) || ["SENTINEL", "SHUTDOWN", "CONFIG", "SLOWLOG"].contains(&command),
                "{}: {command} isn't granted",
                file.display()
            );
        }
    }
}

#[tokio::test]
async fn real_processes_work_under_the_acl() {
    let (guarded, upstream) = (Guarded::start().await, Upstream::willing().await);
    let settings = guarded.redis.folder().join("dripfeed.toml");
    let [stream, list] = ["stream", "list"].map(|kind| {
        format!("[buckets.{kind}]\nkind = \"{kind}\"\nupstream = \"{}\"\nleak.rate = \"1000/s\"\n", upstream.url())
    });
    let common = format!("redis.url = \"{}\"\n{TIMEOUTS}intake.listen = \"127.0.0.1:0\"\n", guarded.url());
    fs::write(&settings, common + "processor.listen = \"127.0.0.1:0\"\n" + &stream + &list).expect("a file");
    let dripfeed = |arguments: &[&str]| {
        let mut command = command(["-c".as_ref(), settings.as_os_str()]);
        command.args(arguments);
        command
    };
    let checked = dripfeed(&["check", "--connect"]).output().await.expect("the executable");
    assert!(checked.status.success(), "{checked:?}");

    let (mut intake, mut processor) = (
        Process::start("intake", dripfeed(&["intake"])).await,
        Process::start("processor", dripfeed(&["processor"])).await,
    );
    for bucket in ["stream", "list"] {
        assert_eq!(intake.client().submit(bucket, "{}").await.expect("an answer").status, 202);
    }
    upstream.has_got(2).await;
    let client = intake.client();
    let rules = r#"{"policies":[{"id":"a","tiers":[{"kind":"gate","period":"1h"}],"consistency":"strict"}]}"#;
    let call = async |method, path, body: &str| {
        let answer = client.call(client.request(method, path), body.to_owned()).await.expect("an answer");
        answer.status
    };
    assert_eq!(call(Method::PUT, "/v1/services/shop/rules", rules).await, 200);
    until("a check is decided", async || call(Method::POST, "/v1/services/shop/check", "{}").await == 429).await;
    assert_eq!(call(Method::DELETE, "/v1/services/shop/rules", "").await, 204);
    assert_eq!(call(Method::GET, "/v1/redis", "").await, 200);
    for process in [&mut intake, &mut processor] {
        process.terminate();
        assert!(process.ended().await.success(), "{}", process.log());
        assert!(!process.log().contains("denies"), "{}", process.log());
    }
    // What a bucket that left the settings has left behind.
    let mut left = redis::cmd("XADD");
    left.arg(&["dripfeed:{old}:jobs", "*", "body", "{}"]);
    guarded.admin.command::<String>(&left).await.unwrap();
    silence(&guarded.admin, "old stream ").await;
    let moved = dripfeed(&["drain", "old", "--into", "stream"]).output().await.expect("the executable");
    assert!(moved.status.success(), "{moved:?}");
    silence(&guarded.admin, "stream stream ").await;
    let drained = dripfeed(&["drain", "stream"]).output().await.expect("the executable");
    assert!(drained.status.success(), "{drained:?}");
    upstream.has_got(3).await;
    let denied: Vec<_> = guarded.called().await.into_iter().filter(|(_, rejected)| *rejected > 0).collect();
    assert!(denied.is_empty(), "denied: {denied:?}");

    let fsync = ["--set", "redis.durability=fsync", "check", "--connect"];
    let checked = dripfeed(&fsync).output().await.expect("the executable");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.code() == Some(78) && said.contains("+config|get"), "{checked:?}");
    guarded.admin.command::<()>(redis::cmd("CONFIG").arg("SET").arg("appendfsync").arg("always")).await.unwrap();
    guarded.set_user(["+config|get"]).await;
    let checked = dripfeed(&fsync).output().await.expect("the executable");
    assert!(checked.status.success(), "{checked:?}");

    guarded.set_user(["-xclaim", "-rpop"]).await;
    let checked = dripfeed(&["check", "--connect"]).output().await.expect("the executable");
    let printed = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(77), "{checked:?}");
    assert!(
        printed.contains("'xclaim'") && printed.contains("'rpop'") && printed.contains("redis-acl.conf"),
        "{printed}"
    );

    // Where it can't be asked beforehand, the first refusal says as much of each bucket.
    guarded.set_user(["-acl|whoami", "-evalsha"]).await;
    let checked = dripfeed(&["check", "--connect"]).output().await.expect("the executable");
    let printed = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(77), "{checked:?}");
    let of_buckets = printed.lines().filter(|line| line.starts_with("error: bucket ") && line.contains("'evalsha'"));
    assert!(of_buckets.filter(|line| line.contains("redis-acl.conf")).count() > 1, "{printed}");

    // A script finds more of them, and one refusal hides no other.
    guarded.set_user(["+evalsha", "-hget", "-zadd", "-xadd"]).await;
    let checked = dripfeed(&["check", "--connect"]).output().await.expect("the executable");
    let printed = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(77), "{checked:?}");
    let of_stream = printed.lines().find(|line| line.starts_with("error: bucket stream:")).expect("a line");
    for command in ["hget", "zadd", "xadd", "xclaim"] {
        assert!(of_stream.contains(&format!("'{command}'")), "{command}: {printed}");
    }
}
