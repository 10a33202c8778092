//! At maxmemory Redis refuses commands of a script only up to its first write: what makes something new begins with one
//! that is refused.

use dripfeed_bucket::{Kind, fragments};
use dripfeed_store::ErrorKind;

use super::*;

const SHARED: &[&Fragments] = fragments(Kind::Stream);

impl Trials {
    /// It is refused, and nothing is changed.
    async fn has_no_room(&self, script: &Script, names: &[&str], arguments: &[&str]) {
        let keys: Vec<String> = names.iter().map(|name| self.key(name)).collect();
        let mut call = script.on(&keys);
        call.arg(arguments);
        let before = self.all().await;
        self.does::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
        let answer = self.store.run::<Value>(&call).await;
        self.does::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
        let kind = answer.map_err(|error| error.kind());
        assert!(matches!(kind, Err(ErrorKind::Full)), "{} of {arguments:?}: {kind:?}", script.name());
        assert!(self.all().await == before, "{} of {arguments:?} is half done", script.name());
    }
}

#[tokio::test]
async fn no_schedule_and_no_replay_begins() {
    let define = script!("define_schedule", SHARED, "bucket/src/schedule");
    let start = script!("start_replay", SHARED, "bucket/src/ended/replays");
    let mut trials = Trials::of("b").await;
    let keys = ["schedules", "schedules:next", "schedules:state", "tally", "control"];
    for paused in ["0", "1"] {
        trials.has_no_room(define, &keys, &["s", "", "v1", "{}", paused, "1000", "9", "999", ""]).await;
    }
    trials.call(define, &keys, &["s", "", "v1", "{}", "0", "1000", "9", "999", ""]).await;
    for (paused, next) in [("1", ""), ("0", "-1"), ("0", "")] {
        trials.has_no_room(define, &keys, &["s", "v1", "v2", "{ }", paused, next, "9", "999", ""]).await;
    }
    // The one that has ended makes room for it.
    trials.does::<()>(&["HSET", &trials.key("dead:replays"), "r:state", "done", "r:ended", "5"]).await;
    trials.has_no_room(start, &["dead:replays", "control"], &["s", "{}", "1", "1", "9-0", ""]).await;
}

#[tokio::test]
async fn no_bucket_is_defined() {
    let put = script!("put_definition", SHARED, "bucket/src/define");
    let trials = Trials::of("@buckets").await;
    // What was deleted a day ago is forgotten now.
    for zset in ["changed", "deleted"] {
        trials.does::<()>(&["ZADD", &trials.key(zset), "1", "old"]).await;
    }
    let keys = ["definitions", "changed", "state", "deleted"];
    trials.has_no_room(put, &keys, &["b", "", "1000", "{}", "9", "9999", "999", "epoch"]).await;
}

#[tokio::test]
async fn no_key_is_made() {
    let put = script!("put_key", KEY_FRAGMENTS, "auth/src/key_registry");
    let mut trials = Trials::of("@keys").await;
    let keys = ["keys", "changed", "state", "deleted", "hashes", "expires", "audit"];
    trials.call(put, &keys, &["old", "", "aa", "1", "{}", "9", "999", "epoch", "root", ""]).await;
    trials.has_no_room(put, &keys, &["k", "", "bb", "", "{}", "9", "999", "epoch", "root", ""]).await;
}
