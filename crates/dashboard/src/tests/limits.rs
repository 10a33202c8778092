use serde_json::{Value, json};

use super::{api, asked, bucket, frame, over, text};
use crate::model::bucket::Bucket;
use crate::parts::attention;
use crate::parts::leak::{State, Why, empties};

/// Frames of a bucket, one a second, with what it has delivered by then.
pub(super) fn delivering(delivered: &[u64], differs: &Value) -> Vec<Value> {
    let of = |(second, delivered): (usize, &u64)| {
        let mut bucket = bucket("b", 500);
        for (member, value) in differs.as_object().unwrap() {
            bucket[member] = value.clone();
        }
        bucket["totals"]["ended"] = json!({ "delivered": delivered });
        let mut frame = frame(&format!("2026-11-23T14:03:{second:02}Z"));
        frame["summary"]["buckets"] = json!(1);
        frame["states"] = json!([bucket]);
        frame
    };
    delivered.iter().enumerate().map(of).collect()
}

/// What the page shows of the bucket after each frame.
pub(super) fn cards(frames: &[Value]) -> Vec<String> {
    let events = text(asked(&over(api(frames)), "/live/buckets?names=b"));
    let mut shown = "";
    let card = |event| {
        shown = Some(event).filter(|event: &&str| event.contains("bucket-b")).unwrap_or(shown);
        shown.to_owned()
    };
    events.split_terminator("\n\n").map(card).collect()
}

#[test]
fn a_slow_rate_is_not_none_between_its_events() {
    // Two jobs each five seconds.
    let delivered: Vec<u64> = (0..40).map(|second| second / 5 * 2).collect();
    for card in &cards(&delivering(&delivered, &json!({})))[30..] {
        assert!(card.contains("0.4/s out"), "{card}");
    }
    // A burst is over when it is over, and one job is seen.
    let burst: Vec<u64> = (0..20).map(|second| if second < 10 { second * 100 } else { 1000 }).collect();
    let cards = cards(&delivering(&burst, &json!({})));
    assert!(cards[9].contains("100/s out") && cards[16].contains(">0/s out"), "{}", cards[16]);
}

#[test]
fn a_bucket_that_is_slower_than_its_rate_does_not_empty_at_that_rate() {
    let pace = json!({ "target": "100/s", "effective_per_s": 100.0, "reason": "target", "held_for_ms": null });
    let replicas = json!([{ "consumer": "vm-1", "in_flight": 2 }]);
    let mut slow = json!({
        "level": 396, "waiting": 394, "in_flight": 2, "oldest_age_ms": 14_000, "settled_per_s": 0.4, "pace": pace,
        "replicas": replicas,
    });
    let delivered: Vec<u64> = (0..31).map(|second| second / 5 * 2).collect();
    let shown = |frames: &[Value], parts: &[&str]| {
        let cards = cards(frames);
        for part in parts {
            assert!(cards[frames.len() - 1].contains(part), "{part}: {}", cards[frames.len() - 1]);
        }
    };
    let why = ["Leaks at <strong>0.4/s</strong>, slower than its rate of 100/s: its calls take long.", "17 min"];
    // When the page is opened, by what the API has measured, and later by what was seen since.
    shown(&delivering(&delivered[..1], &slow), &why);
    shown(&delivering(&delivered, &slow), &why);
    // Of an upstream that answers each call with an error, nothing takes long.
    for (in_flight, parked, cause) in [
        (2, 40, "its calls take long, or fail and are retried."),
        (0, 40, "its calls may fail and be retried, or its callers be at their limits."),
        (0, 0, "its callers may be at their limits."),
    ] {
        let mut failing = slow.clone();
        (failing["in_flight"], failing["parked"]) = (json!(in_flight), json!(parked));
        shown(&delivering(&delivered, &failing), &[cause]);
    }
    // What was paused a moment ago isn't slow.
    let mut resumed = delivering(&delivered[..8], &slow);
    for frame in &mut resumed[..6] {
        frame["states"][0]["pace"]["effective_per_s"] = json!(0.0);
    }
    shown(&resumed, &["Leaks at up to <strong>100/s</strong>, as configured."]);
    // Nor one whose processor has come back, or that couldn't be read for a while.
    let mut served = delivering(&delivered[..8], &slow);
    served[2]["states"][0]["replicas"] = json!([]);
    shown(&served[..7], &["Leaks at up to <strong>100/s</strong>, as configured."]);
    let mut away = delivering(&delivered[..12], &slow);
    for frame in &mut away[1..9] {
        (frame["states"], frame["unavailable"]) = (json!([]), json!(["b"]));
    }
    shown(&away, &["Leaks at up to <strong>100/s</strong>, as configured."]);
    // Nor is one whose jobs have just come.
    slow["oldest_age_ms"] = json!(1000);
    shown(&delivering(&delivered[..1], &slow), &["Leaks at up to <strong>100/s</strong>", "4 s"]);
}

#[test]
fn what_makes_room_depends_on_what_limits_the_calls() {
    let to_do = |reason: &str, effective_per_s: f64, replicas: usize| {
        let mut bucket = bucket("b", 100);
        bucket["replicas"] = vec![json!({ "consumer": "vm-1", "in_flight": 0 }); replicas].into();
        (bucket["level"], bucket["waiting"], bucket["oldest_age_ms"]) = (95.into(), 95.into(), 60_000.into());
        (bucket["settled_per_s"], bucket["problems"]) = (0.5.into(), json!(["refusing"]));
        bucket["pace"] = json!({ "target": "1/s", "effective_per_s": effective_per_s, "reason": reason });
        attention::of_bucket(&serde_json::from_value::<Bucket>(bucket).unwrap().row())[0].what_to_do.clone()
    };
    for (reason, effective_per_s, replicas, first) in [
        ("target", 0.5, 1, "raise leak.rate or capacity"),
        ("target", 10.0, 1, "raise leak.concurrency or capacity"),
        ("no_rate", 0.5, 1, "raise leak.concurrency or capacity"),
        ("held", 0.0, 1, "raise capacity"),
        ("refusals", 0.5, 1, "raise capacity"),
        ("paused", 0.0, 1, "resume it, raise capacity"),
        ("paused", 0.0, 0, "resume it, raise capacity"),
        ("target", 1.0, 0, "start a processor, raise capacity"),
        ("dead_full", 0.0, 1, "let it leak again, raise capacity"),
    ] {
        assert_eq!(
            to_do(reason, effective_per_s, replicas),
            format!("{first}, or slow down what fills it"),
            "{reason}"
        );
    }
}

#[test]
fn a_row_without_a_target_says_what_limits_its_calls() {
    let why = |reason: &str, effective_per_s: f64| {
        let mut bucket = bucket("b", 100);
        bucket["replicas"] = json!([{ "consumer": "vm-1", "in_flight": 0 }]);
        bucket["pace"] = json!({ "target": "8/s", "effective_per_s": effective_per_s, "reason": reason });
        Why::of_row(&serde_json::from_value::<Bucket>(bucket).unwrap().row()).text()
    };
    assert_eq!(why("paused", 0.0), "Paused. It fills until it is resumed.");
    assert_eq!(why("held", 0.0), "Throttled by the upstream.");
    assert_eq!(why("used_up", 0.0), "The quota is used up for now.");
    assert_eq!(why("refusals", 2.0), "Cut to 2/s: the upstream refuses calls.");
    assert_eq!(why("target", 8.0), "Leaks at up to 8/s.");
}

#[test]
fn a_bucket_that_makes_no_call_before_a_known_time_empties_after_it() {
    let mut state = bucket("b", 9);
    (state["level"], state["waiting"]) = (1.into(), 1.into());
    state["replicas"] = json!([{ "consumer": "a", "in_flight": 0, "paused": 0, "silent": false }]);
    let shown = |state: &Value| empties(&serde_json::from_value::<Bucket>(state.clone()).unwrap().row());
    state["pace"] = json!({ "target": "2/h", "effective_per_s": 0.0, "reason": "used_up", "held_for_ms": null });
    assert_eq!(shown(&state), None, "an intake of an earlier version doesn't say until when");
    state["pace"]["used_up_for_ms"] = 7_500_000.into();
    assert_eq!(shown(&state).as_deref(), Some("> 2 h 5 min"));
    state["pace"] = json!({ "target": "2/h", "effective_per_s": 0.0, "reason": "held", "held_for_ms": 7_500_000 });
    assert_eq!(shown(&state).as_deref(), Some("> 2 h 5 min"));
    state["pace"]["reason"] = "paused".into();
    assert_eq!(shown(&state), None, "nobody knows for how long");
}

#[test]
fn a_bucket_whose_calls_fail_says_how_and_where_to_look() {
    let notice = |answers: Value, parked: u64| {
        let mut bucket = bucket("b", 100);
        bucket["replicas"] = json!([{ "consumer": "vm-1", "in_flight": 0 }]);
        (bucket["problems"], bucket["recent_answers"], bucket["parked"]) = (json!(["failing"]), answers, parked.into());
        let row = serde_json::from_value::<Bucket>(bucket).unwrap().row();
        assert_eq!(State::of(&row).word, "failing");
        let notice = attention::of_bucket(&row).remove(0);
        format!("{} {}", notice.what.clone(), attention::list(vec![notice]).into_string())
    };
    for (answers, parked, what, page) in [
        (json!({ "none": 7 }), 7, "all of the last 7 calls failed, without an answer", "/jobs?state=parked"),
        (json!({ "2xx": 1, "5xx": 4, "none": 2 }), 0, "6 of the last 7 calls failed, most with a 5xx status", ""),
        (json!({ "2xx": 3, "4xx": 4, "429": 1 }), 0, "4 of the last 8 calls failed, with a 4xx status", "/dead"),
        // In a table of many buckets.
        (json!({}), 0, "most of its calls fail", ""),
    ] {
        let said = notice(answers, parked);
        assert!(said.starts_with(what) && said.contains(&format!("href=\"/buckets/b{page}\"")), "{said}");
    }
}

#[test]
fn dead_letters_that_rise_are_counted_apart_from_earlier_ones() {
    let mut bucket = bucket("b", 100);
    bucket["replicas"] = json!([{ "consumer": "vm-1", "in_flight": 0 }]);
    (bucket["dead"], bucket["recent_dead"], bucket["warnings"]) = (1204.into(), 37.into(), json!(["dead_rising"]));
    let notice = attention::of_bucket(&serde_json::from_value::<Bucket>(bucket).unwrap().row()).remove(0);
    assert_eq!(notice.what, "dead letters are rising: 37 in the last 2 min, 1,204 in all");
    let list = attention::list(vec![notice]).into_string();
    assert!(list.contains(r#"data-mood="look""#) && list.contains("/buckets/b/dead"), "{list}");
}
