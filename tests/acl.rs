//! The user of Redis that `config/deploy/redis-acl.conf` grants: every journey of a job goes under it, and it may do nothing
//! else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{Start, Submission};
use dripfeed_store::{Durability, Facts, RedisSettings, Store};
use dripfeed_tests::buckets::{self, DELIVERED, buried, join, settle, submit, take, take_one, takes_nothing};
use dripfeed_tests::processes::{Process, command};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use dripfeed_tests::sources::{from_the_root, of_the_product};
use dripfeed_tests::upstream::Upstream;
use http::Method;
use redis::InfoDict;

const PASSWORD: &str = "opensesame";

/// What no test here needs: another database, Sentinel, and confirmation by replicas.
const ELSEWHERE: [&str; 3] = ["role", "select", "wait"];

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
        Store::connect(&RedisSettings::new(address, "dripfeed", Durability::Everysec))
            .await
            .expect("our user may enter")
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

fn settings(kind: Kind) -> BucketSettings {
    let attempts = if kind == Kind::Stream { 3 } else { 1 };
    let mut settings = buckets::settings("b");
    settings.retry.attempts = attempts;
    BucketSettings { kind, deliveries: 1, ..settings }
}

/// What a job and its operator can do in both kinds.
async fn go_all_ways(bucket: &Bucket, store: &Store) {
    Facts::gather(store).await.expect("INFO and CONFIG GET");
    let replica = join(bucket, "a").await;
    let keyed = Submission { idempotency_key: IdempotencyKey::parse("k").ok(), ..buckets::job("keyed") };
    let first = submit(bucket, keyed.clone()).await;
    assert!(submit(bucket, keyed).await.repeated);
    assert!(bucket.find(first.id).await.unwrap().is_some());
    assert_eq!(bucket.jobs(None, None, 10).await.unwrap().items.len(), 1);
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert!(bucket.await_outcome(first.id, Duration::from_secs(9)).await.unwrap().is_some());

    let dead = submit(bucket, buckets::job("dead")).await;
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    assert_eq!(bucket.dead_letters(&DeadFilter::default(), None, 10).await.unwrap().items.len(), 1);
    assert!(matches!(bucket.replay(dead.id).await.unwrap(), Replayed::As(_)));
    let again = take_one(&replica).await;
    let id = again.claim.id();
    settle(&replica, again, buried("no luck")).await;
    assert!(bucket.dead_letter(id).await.unwrap().is_some());
    assert!(bucket.delete_dead(id).await.unwrap());

    submit(bucket, buckets::job("given back")).await;
    settle(&replica, take_one(&replica).await, Settlement::GiveBack).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;

    let expiring = Submission { expires_in: Some(Duration::from_millis(1)), ..buckets::job("late") };
    submit(bucket, expiring).await;
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(takes_nothing(&replica).await);

    let cancelled = submit(bucket, buckets::job("cancelled")).await;
    assert_eq!(bucket.cancel(cancelled.id).await.unwrap(), Cancel::Cancelled);
    submit(bucket, buckets::job("purged")).await;
    assert_eq!(bucket.purge().await.unwrap(), 1);

    submit(bucket, buckets::job("left behind")).await;
    let gone = join(bucket, "gone").await;
    take(&gone, 1).await;
    assert!(!replica.beat().await.unwrap().fenced);
    assert!(bucket.declare_dead(&Consumer::new("gone")).await.unwrap().is_some());

    bucket.pause().await.unwrap();
    bucket.resume().await.unwrap();
    for capacity in [Some(7), None] {
        bucket.change(&Changes { capacity: Some(capacity), ..Changes::default() }).await.unwrap();
    }
    bucket.census().await.unwrap();
    bucket.outcomes(None, None, None, 10).await.unwrap();
    bucket.report(Duration::from_hours(1)).await.unwrap();
    assert_eq!(bucket.denied().await.unwrap(), Some(Vec::new()));
    replica.leave().await.unwrap();
}

async fn go_the_ways_of_a_stream(bucket: &Bucket, admin: &Store) {
    let replica = join(bucket, "s").await;
    submit(bucket, buckets::job("again")).await;
    settle(&replica, take_one(&replica).await, Settlement::Retry { after: Duration::ZERO }).await;
    settle(&replica, take_one(&replica).await, Settlement::Hold { wait: Some(Duration::from_millis(1)) }).await;
    submit(bucket, Submission { start: Start::After(Duration::from_hours(1)), ..buckets::job("later") }).await;
    // Only who waits for a new entry, and not for the end of a hold, waits at the doorbell.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let idle = loop {
        match replica.take(1).await.unwrap() {
            Take::Idle(idle) => break idle,
            Take::Jobs(jobs) => {
                for job in jobs {
                    settle(&replica, job, DELIVERED).await;
                }
            }
            Take::Fenced => panic!("it lives"),
        }
    };
    let ((), rung) = tokio::join!(replica.wait(&idle), submit(bucket, buckets::job("bell")));
    assert!(rung.level > 0);

    // What somebody broke by hand, for the doctor to mend.
    let mut strand = redis::cmd("XACK");
    let held = take_one(&replica).await;
    strand.arg("dripfeed:{b}:jobs").arg("processors").arg(held.claim.id().to_string());
    admin.command::<u64>(&strand).await.unwrap();
    assert!(bucket.examine(true).await.unwrap().iter().any(|finding| finding.kind == FindingKind::Stranded));
    replica.leave().await.unwrap();
}

#[tokio::test]
async fn every_journey_goes_under_the_acl_and_every_grant_is_used() {
    let guarded = Guarded::start().await;
    for kind in [Kind::Stream, Kind::List] {
        guarded.admin.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        let store = guarded.store().await;
        let bucket = guarded.bucket(settings(kind)).await;
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
async fn whatever_is_missing_from_the_acl_is_told() {
    let guarded = Guarded::start().await;
    let replicated = BucketSettings { durability: Durability::Replicated, ..settings(Kind::List) };
    let buckets = [guarded.bucket(settings(Kind::Stream)).await, guarded.bucket(replicated).await];
    // Who lacks these is told so in other words, or at once.
    let otherwise = ["config|get", "role", "select"];
    for command in granted() {
        guarded.set_user([format!("-{command}").as_str()]).await;
        let mut told = Vec::new();
        for bucket in &buckets {
            told.push(bucket.denied().await.unwrap());
        }
        guarded.set_user([format!("+{command}").as_str()]).await;
        if command.starts_with("acl|") {
            assert!(told.iter().all(Option::is_none), "{command}: {told:?}");
            continue;
        }
        let named = told.iter().flatten().flatten().any(|denial| denial.contains(&format!("'{command}'")));
        assert_eq!(named, !otherwise.contains(&&*command), "{command}: {told:?}");
    }
    let elsewhere =
        guarded.bucket(BucketSettings { key: Some("elsewhere".to_owned()), ..settings(Kind::Stream) }).await;
    let told = elsewhere.denied().await.unwrap().unwrap();
    assert!(told.iter().all(|denial| denial.contains("'elsewhere' key")) && !told.is_empty(), "{told:?}");
}

#[test]
fn every_command_in_the_sources_is_granted() {
    let granted = granted();
    let is_granted = |command: &str| {
        let command = command.to_lowercase();
        granted.iter().any(|grant| grant.split('|').next() == Some(&command))
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
            let command = called.split(after).next().expect("the name of a command");
            // It isn't said to Redis, but to Sentinel.
            assert!(is_granted(command) || command == "SENTINEL", "{}: {command} isn't granted", file.display());
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
    let common = format!("redis.url = \"{}\"\nintake.listen = \"127.0.0.1:0\"\n", guarded.url());
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
    for process in [&mut intake, &mut processor] {
        process.terminate();
        assert!(process.ended().await.success(), "{}", process.log());
        assert!(!process.log().contains("denies"), "{}", process.log());
    }
    let denied: Vec<_> = guarded.called().await.into_iter().filter(|(_, rejected)| *rejected > 0).collect();
    assert!(denied.is_empty(), "denied: {denied:?}");

    guarded.set_user(["-xclaim", "-rpop"]).await;
    let checked = dripfeed(&["check", "--connect"]).output().await.expect("the executable");
    let told = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(78), "{checked:?}");
    assert!(told.contains("'xclaim'") && told.contains("'rpop'") && told.contains("redis-acl.conf"), "{told}");
}
