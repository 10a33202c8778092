use serde_json::{Value, json};

use super::bucket;
use super::limits::{cards, delivering};
use crate::model::bucket::Bucket;
use crate::parts::leak::Why;

#[test]
fn a_rate_that_is_cut_says_to_what_part_of_it_and_why() {
    let why = |reason: &str, target: &str, answers: Value| {
        let mut bucket = bucket("b", 100);
        bucket["replicas"] = json!([{ "consumer": "vm-1", "in_flight": 0 }]);
        bucket["pace"] = json!({ "target": target, "effective_per_s": 2.0, "reason": reason });
        bucket["recent_answers"] = answers;
        Why::of(&serde_json::from_value::<Bucket>(bucket).unwrap()).text()
    };
    let answers = json!({ "2xx": 88, "429": 12 });
    let of_refusals = "12 % of recent calls were refused.";
    assert_eq!(why("refusals", "5/s", answers.clone()), format!("Cut to 40 % (2/s of 5/s): {of_refusals}"));
    assert_eq!(why("refusals", "200/m", answers.clone()), format!("Cut to 60 % (2/s of 200/m): {of_refusals}"));
    assert_eq!(why("timeouts", "5/s", answers.clone()), "Cut to 40 % (2/s of 5/s): calls time out.");
    // Cut by answers of an earlier minute, or seen by an intake of an earlier version.
    assert_eq!(why("refusals", "5/s", json!({})), "Cut to 40 % (2/s of 5/s): the upstream refuses calls.");
    // A bucket with several rates.
    let several = "10/s, 100/m";
    assert_eq!(why("refusals", several, answers), format!("Cut to 2/s of {several}: {of_refusals}"));
}

#[test]
fn what_keeps_a_bucket_from_leaking_is_said_where_no_rate_is_set() {
    let why = |differs: Value| {
        let mut bucket = bucket("b", 100);
        bucket["replicas"] = json!([{ "consumer": "vm-1", "in_flight": 0 }]);
        bucket["pace"] = json!({ "target": null, "effective_per_s": null, "reason": "no_rate" });
        for (member, value) in differs.as_object().unwrap() {
            bucket[member] = value.clone();
        }
        Why::of(&serde_json::from_value::<Bucket>(bucket).unwrap()).text()
    };
    let held = json!({ "target": null, "effective_per_s": 0.0, "reason": "held", "held_for_ms": 60_000 });
    for (differs, expected) in [
        (json!({}), "Leaks as fast as the upstream answers: no rate limit is set."),
        (json!({ "replicas": [] }), "No processor serves it. It has no rate limit."),
        (json!({ "problems": ["failing"] }), "Most of its calls fail. It has no rate limit."),
        (json!({ "pace": held }), "Throttled by the upstream for another 60 s. It has no rate limit."),
        (json!({ "pace": held, "replicas": [], "level": 1 }), "No processor serves it. It has no rate limit."),
    ] {
        assert_eq!(why(differs.clone()), expected, "{differs}");
    }
}

#[test]
fn a_bucket_that_is_slower_than_its_cut_rate_says_so_while_that_recovers() {
    let pace = json!({ "target": "5/s", "effective_per_s": 3.0, "reason": "refusals", "held_for_ms": null });
    let state = json!({
        "level": 100, "waiting": 96, "parked": 4, "oldest_age_ms": 60_000, "pace": pace,
        "replicas": [{ "consumer": "vm-1", "in_flight": 0 }], "recent_answers": { "2xx": 98, "429": 2 },
    });
    let shown = |delivered: fn(u64) -> u64| {
        let delivered: Vec<u64> = (0..12).map(delivered).collect();
        let mut frames = delivering(&delivered, &state);
        for (second, frame) in frames.iter_mut().enumerate() {
            frame["states"][0]["pace"]["effective_per_s"] = json!(3.0 + 0.04 * second as f64);
        }
        cards(&frames).remove(11)
    };
    let slow = shown(|second| second / 5 * 2);
    assert!(slow.contains("2 % of recent calls were refused. It leaks at 0.4/s: its calls may fail"), "{slow}");
    assert!(slow.contains("4 min"), "{slow}");
    let at_its_rate = shown(|second| second * 3);
    assert!(at_its_rate.contains("were refused.</p>") && at_its_rate.contains("28 s"), "{at_its_rate}");
}
