//! The Redis permissions that a bucket needs: an example of each of its commands, for `ACL DRYRUN`. The examples are
//! never executed on keys of a bucket.

use std::collections::BTreeSet;

use dripfeed_store::{Durability, Store, StoreError, acl_denials, acl_denials_in_scripts};
use redis::Cmd;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::inspect::served::bucket_place::BucketPlace;
use crate::script::keys::Keys;
use crate::script::redis_bucket::RedisBucket;
use crate::settings::Kind;

/// `JOBS` stands for the key of the jobs, `KEY` for the bucket's other keys, `NOTICES` for its channel.
const OF_BOTH: [&str; 44] = [
    "PING",
    "INFO",
    "TIME",
    "EVAL script 0",
    "EVALSHA sha 0",
    "EXISTS KEY",
    "GET KEY",
    "SET KEY value PX 1",
    "SETRANGE KEY 0 value",
    "DEL KEY",
    "HDEL KEY field",
    "HEXISTS KEY field",
    "HGET KEY field",
    "HGETALL KEY",
    "HINCRBY KEY field 1",
    "HKEYS KEY",
    "HLEN KEY",
    "HMGET KEY field",
    "HRANDFIELD KEY 1",
    "HSCAN KEY 0",
    "HSET KEY field value",
    "HSETNX KEY field value",
    "PERSIST JOBS",
    "HSTRLEN KEY field",
    "MGET KEY",
    "MSET KEY value",
    "PEXPIRE KEY 1",
    "PTTL KEY",
    "PUBLISH NOTICES message",
    "SUBSCRIBE NOTICES",
    "ZADD KEY 1 member",
    "ZCARD KEY",
    "ZCOUNT KEY 0 1",
    "ZMSCORE KEY member",
    "ZRANGE KEY 0 1",
    "ZRANK KEY member",
    "ZREM KEY member",
    "ZREMRANGEBYSCORE KEY 0 1",
    "ZSCORE KEY member",
    "ZUNIONSTORE KEY 1 KEY",
    // The dead letters.
    "XADD KEY * field value",
    "XDEL KEY 1-0",
    "XLEN KEY",
    "XRANGE KEY - +",
];
const OF_A_STREAM: [&str; 13] = [
    "XADD JOBS * field value",
    "XACK JOBS group 1-0",
    "XCLAIM JOBS group consumer 0 1-0",
    "XPENDING JOBS group",
    "XREADGROUP GROUP group consumer STREAMS JOBS >",
    "XREVRANGE JOBS + -",
    "XGROUP CREATE JOBS group 0",
    "XGROUP CREATECONSUMER JOBS group consumer",
    "XGROUP DELCONSUMER JOBS group consumer",
    "XGROUP SETID JOBS group 1-0",
    "XINFO CONSUMERS JOBS group",
    "XINFO GROUPS JOBS",
    "XDEL JOBS 1-0",
];

const OF_REPLICATED: [&str; 2] = ["ROLE", "WAIT 1 1"];

const OF_A_LIST: [&str; 7] = [
    "LINDEX JOBS 0",
    "LLEN JOBS",
    "LPUSH JOBS element",
    "LREM JOBS 1 element",
    "LSET JOBS 0 element",
    "RPOP JOBS",
    "RPUSH JOBS element",
];

/// A read and a write of each kind of key: enough for further buckets, once all commands were checked for one.
const KEYS_OF_BOTH: [&str; 3] = ["HGETALL KEY", "HSET KEY field value", "SUBSCRIBE NOTICES"];
const KEYS_OF_A_STREAM: [&str; 2] = ["XRANGE JOBS - +", "XADD JOBS * field value"];
const KEYS_OF_A_LIST: [&str; 2] = ["LINDEX JOBS 0", "LPUSH JOBS element"];

/// Returns what these buckets need and the ACL of Redis denies, as [`Bucket::denied`] reports it. Checks all commands
/// for the first bucket of each kind, and only the keys of the others, by one request to each server that accepts
/// writes.
///
/// # Errors
/// When Redis doesn't answer.
pub async fn denied_at(
    store: &Store,
    places: &[BucketPlace],
    durability: Durability,
) -> Result<Option<Vec<String>>, StoreError> {
    let (mut calls, mut kinds) = (Vec::new(), BTreeSet::new());
    for place in places {
        let keys = place.keys(store);
        if kinds.insert(place.kind) {
            calls.extend(calls_of(place.kind, durability, &keys.jobs(), &keys.tally(), &keys));
        } else {
            let keys_of_kind = match place.kind {
                Kind::Stream => KEYS_OF_A_STREAM,
                Kind::List => KEYS_OF_A_LIST,
            };
            let key_calls = KEYS_OF_BOTH.iter().chain(&keys_of_kind);
            calls.extend(key_calls.map(|call| call_of(call, &keys.jobs(), &keys.tally(), &keys)));
        }
    }
    let mut denials = Vec::new();
    for server in store.masters() {
        let Some(by_server) = acl_denials(&server, &calls).await? else { return Ok(None) };
        denials.extend(by_server);
    }
    denials.sort();
    denials.dedup();
    Ok(Some(denials))
}

/// Does the same without `ACL DRYRUN`: tries the commands in a script, with keys that no bucket has. Doesn't check
/// messages, which are optional, as each denial is a line in the ACL LOG of Redis. Returns `None` if nothing can be
/// found now.
///
/// # Errors
/// When Redis doesn't answer.
pub async fn denied_in_scripts_at(
    store: &Store,
    places: &[BucketPlace],
    durability: Durability,
) -> Result<Option<Vec<String>>, StoreError> {
    let mut denials = Vec::new();
    for server in store.masters() {
        let Some(nothing) = server.nonexistent_key() else { continue };
        for place in one_of_each_kind(places) {
            let calls = words_of(place.kind, durability).filter(|words| !words.contains("NOTICES"));
            let keys = place.keys(store);
            let calls: Vec<Cmd> = calls.map(|words| call_of(words, &nothing, &nothing, &keys)).collect();
            let Some(of_the_kind) = acl_denials_in_scripts(&server, &nothing, &calls).await? else { return Ok(None) };
            denials.extend(of_the_kind);
        }
    }
    denials.sort();
    denials.dedup();
    Ok(Some(denials))
}

/// Returns the first of each kind.
pub fn one_of_each_kind<'p>(places: impl IntoIterator<Item = &'p BucketPlace>) -> Vec<&'p BucketPlace> {
    let mut kinds = BTreeSet::new();
    places.into_iter().filter(|place| kinds.insert(place.kind)).collect()
}

impl Bucket {
    /// Returns what this bucket needs and the ACL of Redis denies, in the words of Redis. Returns `None` if that can't
    /// be checked: before Redis 7.0, or without `+acl|whoami +acl|dryrun`.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn denied(&self) -> Result<Option<Vec<String>>, BucketError> {
        let keys = &self.redis_bucket.keys;
        let calls = self.calls(&keys.jobs(), &keys.tally());
        Ok(acl_denials(&self.redis_bucket.store, &calls).await?)
    }

    /// Does the same without `ACL DRYRUN`: tries the commands in a script.
    ///
    /// # Errors
    /// When Redis can't be reached, or doesn't answer in time.
    pub async fn denied_in_scripts(&self) -> Result<Vec<String>, BucketError> {
        // A key that no bucket has, as tokens are numbers.
        let nothing = self.redis_bucket.keys.token("none");
        let calls = self.calls(&nothing, &nothing);
        Ok(acl_denials_in_scripts(&self.redis_bucket.store, &nothing, &calls).await?.unwrap_or_default())
    }

    fn calls(&self, jobs: &str, key: &str) -> Vec<Cmd> {
        let RedisBucket { kind, keys, .. } = &*self.redis_bucket;
        calls_of(*kind, self.redis_bucket.settings().durability, jobs, key, keys)
    }
}

/// All commands of a bucket.
fn calls_of(kind: Kind, durability: Durability, jobs: &str, key: &str, keys: &Keys) -> Vec<Cmd> {
    words_of(kind, durability).map(|words| call_of(words, jobs, key, keys)).collect()
}

fn words_of(kind: Kind, durability: Durability) -> impl Iterator<Item = &'static str> {
    let of_the_kind = match kind {
        Kind::Stream => &OF_A_STREAM[..],
        Kind::List => &OF_A_LIST[..],
    };
    let replicated = durability == Durability::Replicated;
    let calls = OF_BOTH.iter().chain(of_the_kind).chain(OF_REPLICATED.iter().filter(move |_| replicated));
    calls.copied()
}

fn call_of(words: &str, jobs: &str, key: &str, keys: &Keys) -> Cmd {
    let mut call = Cmd::new();
    for word in words.split(' ') {
        call.arg(match word {
            "JOBS" => jobs.to_owned(),
            "KEY" => key.to_owned(),
            "NOTICES" => keys.notices(),
            word => word.to_owned(),
        });
    }
    call
}
