//! Scripts of buckets.

use dripfeed_bucket::{Kind, fragments};

use super::*;

const SHARED: &[&Fragments] = fragments(Kind::Stream);

#[tokio::test]
async fn a_bucket_is_defined_and_deleted_whole_or_not_at_all() {
    let put = script!("put_definition", SHARED, "bucket/src/define");
    let begin = script!("begin_deletion", SHARED, "bucket/src/define/deletion");
    let delete = script!("delete_definition", SHARED, "bucket/src/define/deletion");
    let mut trials = Trials::of("@buckets").await;
    let keys = ["definitions", "changed", "state", "deleted"];
    let made = trials.call(put, &keys, &["b", "", "1000", "{}", "9", "9999", "999", "epoch"]).await;
    let [_, version, incarnation] = &made[..] else { panic!("{made:?}") };
    let changed = trials.call(put, &keys, &["b", version, "2000", "{}", "9", "9999", "999", "epoch"]).await;
    assert_eq!(trials.call(begin, &keys[..3], &["b", &changed[1], "1"]).await, ["same"]);
    assert_eq!(trials.call(delete, &keys, &["b", incarnation]).await, ["1"]);
    trials.none_is_half();
}

#[tokio::test]
async fn a_schedule_is_defined_switched_and_ended_whole_or_not_at_all() {
    let define = script!("define_schedule", SHARED, "bucket/src/schedule");
    let switch = script!("switch_schedule", SHARED, "bucket/src/schedule");
    let pass = script!("pass_ticks", SHARED, "bucket/src/schedule");
    let end = script!("end_schedules", SHARED, "bucket/src/schedule");
    let note = script!("note_schedules", SHARED, "bucket/src/schedule");
    let mut trials = Trials::of("b").await;
    let keys = ["schedules", "schedules:next", "schedules:state", "tally", "control"];
    let (next, state) = (keys[1], keys[2]);
    let defined = |version: &str, paused: u8, next: &str| {
        ["defined".to_owned(), format!("{version} {paused} - - 0 0 -"), next.to_owned()]
    };
    let first = trials.call(define, &keys, &["s", "", "v1", "{}", "0", "1000", "9", "999", ""]).await;
    assert_eq!(first, defined("v1", 0, "1000"));
    let unmoved = trials.call(define, &keys, &["s", "v1", "v1a", "{  }", "0", "", "9", "999", ""]).await;
    assert_eq!(unmoved, defined("v1a", 0, "1000"));
    let paused = trials.call(define, &keys, &["s", "v1a", "v2", "{ }", "1", "", "9", "999", ""]).await;
    assert_eq!(paused, defined("v2", 1, "-1"));
    // Twice: the second time it is as it was.
    for (known, version, then) in [("v2", "v3", "1000"), ("v3", "v4", "2000")] {
        let switched = trials.call(switch, &[state, next], &["s", known, "0", then, version]).await;
        assert_eq!(switched, ["switched", "v3 0 - - 0 0 -", "1000"]);
    }
    assert_eq!(trials.call(pass, &[next, state], &["s", "v3", "1000", "2000", "3"]).await, ["1"]);
    let other = trials.call(define, &keys, &["t", "", "v1", "{}", "0", "1000", "9", "999", ""]).await;
    assert_eq!(other, defined("v1", 0, "1000"));
    assert_eq!(trials.call(end, &keys[..4], &["t", "*"]).await, ["1"]);
    assert_eq!(trials.call(end, &keys[..4], &["", "*"]).await, ["1"]);
    for is_deleted in ["0", "1"] {
        trials.call(note, &["changes"], &["b", is_deleted]).await;
    }
    trials.none_is_half();
}

#[tokio::test]
async fn operations_and_requeues_are_executed_completely_or_not_at_all() {
    let apply = script!("apply_overrides", SHARED, "bucket/src/operate");
    let record = script!("record_audit", SHARED, "bucket/src/operate");
    let start = script!("start_replay", SHARED, "bucket/src/ended/replays");
    let advance = script!("advance_replay", SHARED, "bucket/src/ended/replays");
    let replay = script!("replay", SHARED, "bucket/src/ended");
    let forget = script!("forget", SHARED, "bucket/src/ended");
    let orphaned = script!("orphaned_claims", SHARED, "bucket/src/deliver");
    let mut trials = Trials::of("b").await;
    for (capacity, paused) in [("5", "1"), ("6", "")] {
        let arguments = ["v", "", "*", "capacity", capacity, "paused", paused];
        assert_eq!(trials.call(apply, &["jobs", "control", "meter"], &arguments).await[0], "changed");
    }
    trials.call(record, &["tally", "audit"], &["100", "root", "pause", "", ""]).await;
    let replays = ["dead:replays", "control"];
    assert_eq!(trials.call(start, &replays, &["r", "{}", "1", "9", "9-0", ""]).await, ["1"]);
    assert_eq!(trials.call(advance, &replays[..1], &["r", "me", "1000", "", "1-0", "1"]).await, ["kept"]);

    let of = |name: &str| trials.key(name);
    let (jobs, replicas, tally) = (of("jobs"), of("replicas"), of("tally"));
    let (dead, letters, sizes) = (of("dead"), of("dead:letters"), of("dead:sizes"));
    trials.does::<()>(&["XGROUP", "CREATE", &jobs, "processors", "0", "MKSTREAM"]).await;
    // A job that its replica doesn't know of goes back.
    trials.does::<()>(&["HSET", &replicas, "r", "0"]).await;
    trials.does::<()>(&["XADD", &jobs, "*", "body", "x"]).await;
    trials.does::<Value>(&["XREADGROUP", "GROUP", "processors", "r", "STREAMS", &jobs, ">"]).await;
    let (kept, in_order) =
        (["attempts", "dead:waiting", "attempts:failed"], ["throttled", "flow-state", "parked", "flows", "ranges"]);
    let of_claims = [&["jobs", "tally", "replicas", "takes", "batches", "notices"][..], &kept, &in_order].concat();
    trials.call(orphaned, &of_claims, &["r", "1", "", "9", "0", "0"]).await;
    trials.does::<()>(&["HSET", &tally, "bytes", "0", "accepted", "2", "replayed", "0", "dead_bytes", "40"]).await;
    for job in ["1-0", "2-0"] {
        trials.does::<()>(&["XADD", &dead, job, "job", job, "reason", "r", "body", "x"]).await;
        trials.does::<()>(&["HSET", &letters, job, job]).await;
        trials.does::<()>(&["ZADD", &sizes, "0", &format!("{job} 18 {job}")]).await;
    }
    let of_dead = ["dead", "dead:letters", "dead:sizes", "tally"];
    assert_eq!(trials.call(forget, &of_dead, &["1-0"]).await, ["1", "1"]);
    let of_replay = [
        &["jobs", "pace", "meter", "tally", "control", "dead", "dead:letters", "dead:sizes", "holders"][..],
        &["dead:replays", "notices"],
        &in_order,
    ]
    .concat();
    let replayed = trials.call(replay, &of_replay, &["v", "2-0", "9", "9999", "", "0", "0", "0", "r"]).await;
    assert_eq!(replayed[0], "admitted");
    trials.none_is_half();
}
