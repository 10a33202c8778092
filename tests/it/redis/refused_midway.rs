//! Scripts don't roll back: what Redis refuses in the middle of one would stay half done. Here each key that a script
//! is given is of another type once, and each field of a hash is no number: either that is no matter, or nothing is
//! changed.

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_auth::KEY_FRAGMENTS;
use dripfeed_limit::RULES_FRAGMENTS;
use dripfeed_store::{Fragments, Script, Store};
use dripfeed_tests::redis_server::TestRedis;
use redis::{Cmd, Value, cmd};

const ALL_KEYS: &str = "local all = {} for _, key in ipairs(redis.call('KEYS', '*')) do \
    all[#all + 1] = key all[#all + 1] = redis.call('DUMP', key) end return all";
const LARGEST: &str = "18446744073709551615-18446744073709551615";

macro_rules! script {
    ($name:literal, $fragments:expr, $file:literal) => {{
        static SCRIPT: Script = Script::new(
            $name,
            $fragments,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/", $file, "/", $name, ".lua")),
        );
        &SCRIPT
    }};
}

mod at_maxmemory;
mod of_buckets;

fn command(words: &[&str]) -> Cmd {
    let mut command = cmd(words[0]);
    command.arg(&words[1..]);
    command
}

/// That a script may call, by its text and that of all its fragments.
fn commands_of(script: &Script) -> BTreeSet<String> {
    let calls = script.source().split("call('").skip(1);
    calls.filter_map(|call| Some(call.split_once('\'')?.0.to_lowercase())).collect()
}

fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(words).collect(),
        value => redis::from_redis_value(value.clone()).into_iter().collect(),
    }
}

/// Scripts are called here with keys of one hash tag.
struct Trials {
    _redis: TestRedis,
    store: Store,
    tag: &'static str,
    half: Vec<String>,
}

impl Trials {
    async fn of(tag: &'static str) -> Self {
        let redis = TestRedis::start().await;
        Self { store: redis.store().await, _redis: redis, tag, half: Vec::new() }
    }

    fn key(&self, name: &str) -> String {
        format!("d:{{{}}}:{name}", self.tag)
    }

    async fn does<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.store.command(&command(words)).await.expect("Redis does it")
    }

    async fn all(&self) -> BTreeMap<String, Vec<u8>> {
        self.does(&["EVAL", ALL_KEYS, "0"]).await
    }

    async fn put_back(&self, all: &BTreeMap<String, Vec<u8>>) {
        let mut put_back = redis::pipe();
        put_back.cmd("FLUSHALL").ignore();
        for (key, dump) in all {
            put_back.cmd("RESTORE").arg(key).arg(0).arg(dump).ignore();
        }
        self.store.pipeline::<()>(&put_back).await.expect("all is as it was");
    }

    /// What somebody may have done to a key.
    async fn ways_to_break(&self, key: &str) -> Vec<Vec<String>> {
        let way = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut ways = vec![way(&["SET", key, "wrong"])];
        if self.does::<String>(&["TYPE", key]).await == "hash" {
            let fields: Vec<String> = self.does(&["HKEYS", key]).await;
            ways.extend(fields.iter().map(|field| way(&["HSET", key, field, "x"])));
        }
        if key.ends_with("audit") {
            ways.push(way(&["XADD", key, LARGEST, "x", "y"]));
        }
        ways
    }

    /// Calls it once all is as it should be again.
    async fn call(&mut self, script: &Script, names: &[&str], arguments: &[&str]) -> Vec<String> {
        let keys: Vec<String> = names.iter().map(|name| self.key(name)).collect();
        let mut call = script.on(&keys);
        call.arg(arguments);
        let kept = self.all().await;
        for key in &keys {
            for way in self.ways_to_break(key).await {
                let way: Vec<&str> = way.iter().map(String::as_str).collect();
                self.does::<Value>(&way).await;
                let before = self.all().await;
                let answer = self.store.run::<Value>(&call).await;
                let is_half = answer.is_err() && self.all().await != before;
                if is_half || answer.is_err() && way[0] == "XADD" {
                    self.half.push(format!("{} after {}: {answer:?}", script.name(), way.join(" ")));
                }
                self.put_back(&kept).await;
            }
        }
        for denied in commands_of(script) {
            self.does::<()>(&["ACL", "SETUSER", "default", &format!("-{denied}")]).await;
            let answer = self.store.run::<Value>(&call).await;
            self.does::<()>(&["ACL", "SETUSER", "default", &format!("+{denied}")]).await;
            if answer.is_err() && self.all().await != kept {
                self.half.push(format!("{} without {denied}: {answer:?}", script.name()));
            }
            self.put_back(&kept).await;
        }
        let answer = self.store.run::<Value>(&call).await;
        words(&answer.unwrap_or_else(|error| panic!("{} of {names:?}: {error:?}", script.name())))
    }

    fn none_is_half(self) {
        assert!(self.half.is_empty(), "{:#?}", self.half);
    }
}

#[tokio::test]
async fn a_key_is_made_changed_and_revoked_whole_or_not_at_all() {
    let (put, delete) = (
        script!("put_key", KEY_FRAGMENTS, "auth/src/key_registry"),
        script!("delete_key", KEY_FRAGMENTS, "auth/src/key_registry"),
    );
    let mut trials = Trials::of("@keys").await;
    let keys = ["keys", "changed", "state", "deleted", "hashes", "expires", "audit"];
    // It has expired long ago, so that the next one begins with its removal.
    trials.call(put, &keys, &["old", "", "aa", "1", "{}", "9", "999", "epoch", "root", ""]).await;
    let made = trials.call(put, &keys, &["k", "", "bb", "9999999999999", "{}", "9", "999", "epoch", "root", ""]).await;
    let [_, version] = &made[..] else { panic!("{made:?}") };
    let changed = trials.call(put, &keys, &["k", version, "cc", "", "{}", "9", "999", "epoch", "root", ""]).await;
    assert_eq!(trials.call(delete, &keys, &["k", &changed[1], "root"]).await, ["deleted"]);
    trials.none_is_half();
}

#[tokio::test]
async fn rules_of_services_are_registered_and_deleted_whole_or_not_at_all() {
    let (put, delete) = (
        script!("put", RULES_FRAGMENTS, "limit/src/registry"),
        script!("delete", RULES_FRAGMENTS, "limit/src/registry"),
    );
    let mut trials = Trials::of("@services").await;
    let keys = ["rules", "state", "audit"];
    for [known, rules] in [["", "{}"], ["{}", "{ }"]] {
        let made = trials.call(put, &keys, &["s", known, rules, "9", "999", "9", "root", "change", "one", "two"]).await;
        assert_eq!(made, ["registered"]);
    }
    assert_eq!(trials.call(delete, &keys, &["s", "{ }", "9", "root", "delete", "all"]).await, ["deleted"]);
    trials.none_is_half();
}
