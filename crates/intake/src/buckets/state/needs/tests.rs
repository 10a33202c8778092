#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{BucketLimits, Overrides, Pace, RecentCalls, ReplicaCensus};
use dripfeed_tests::buckets;

use super::*;

/// 10 of 100 jobs, and a replica that calls.
fn census() -> Census {
    let replica = ReplicaCensus {
        consumer: "east".to_owned(),
        in_flight: 1,
        joined_ms: None,
        heartbeat_age: Some(Duration::ZERO),
        is_silent: false,
    };
    let pace = Pace {
        target: None,
        effective_per_s: None,
        reason: "target",
        throttled_for: None,
        tokens: None,
        next_call: Duration::ZERO,
    };
    Census {
        level: 10,
        capacity: 100,
        bytes: 0,
        capacity_bytes: 1 << 20,
        max_share: None,
        limits: BucketLimits::default(),
        waiting: 9,
        in_flight: 1,
        parked: 0,
        due_soon: 0,
        dead: 0,
        oldest_age: None,
        accepted_per_s: 1.0,
        refused_per_s: 0.0,
        settled_per_s: 1.0,
        pace,
        paused: false,
        replicas: vec![replica],
        settings: Arc::new(buckets::settings("b")),
        overrides: Overrides::default(),
        version: String::new(),
        accepted: 0,
        refused: Vec::new(),
        ended: Vec::new(),
        recovered: 0,
        dead_bytes: 0,
        dead_dropped: 0,
        dead_replayed: 0,
        outbox: 0,
        outbox_oversized: 0,
        outbox_handed_over: 0,
        outbox_chains: 0,
        recent_calls: RecentCalls::default(),
        recent_dead: 0,
    }
}

/// The problems and the warnings of such a bucket that differs in this.
fn needs(differs: impl FnOnce(&mut Census)) -> (Vec<Need>, Vec<Need>) {
    let mut census = census();
    differs(&mut census);
    let Needs { problems, warnings } = Needs::of(&census);
    (problems, warnings)
}

fn nothing() -> (Vec<Need>, Vec<Need>) {
    (Vec::new(), Vec::new())
}

fn problem(need: Need) -> (Vec<Need>, Vec<Need>) {
    (vec![need], Vec::new())
}

fn warning(need: Need) -> (Vec<Need>, Vec<Need>) {
    (Vec::new(), vec![need])
}

#[test]
fn each_need_is_at_its_index_under_its_name() {
    let names = [
        "dead_full",
        "outbox_full",
        "outbox_oversized",
        "no_processor",
        "failing",
        "refusing",
        "paused",
        "throttled",
        "dead_rising",
        "nearly_full",
        "dead_letters",
    ];
    assert_eq!(serde_json::to_value(Need::ALL).unwrap(), serde_json::json!(names));
    let indices: Vec<usize> = (0..names.len()).collect();
    assert_eq!(serde_json::to_value(Indices(&Need::ALL)).unwrap(), serde_json::json!(indices));
}

#[test]
fn a_bucket_that_leaks_needs_nobody() {
    assert_eq!(needs(|_| {}), nothing());
}

#[test]
fn full_dead_letters_or_a_full_outbox_are_a_problem_only_where_they_stop_the_bucket() {
    assert_eq!(needs(|bucket| bucket.pace.reason = "dead_full"), problem(Need::DeadFull));
    assert_eq!(needs(|bucket| bucket.pace.reason = "outbox_full"), problem(Need::OutboxFull));
    for reason in ["held", "used_up", "refusals", "timeouts", "no_rate"] {
        assert_eq!(needs(|bucket| bucket.pace.reason = reason), nothing(), "{reason}");
    }
}

#[test]
fn an_outcome_job_that_never_fits_is_a_problem_and_one_that_waits_is_none() {
    assert_eq!(needs(|bucket| (bucket.outbox, bucket.outbox_oversized) = (2, 1)), problem(Need::OutboxOversized));
    assert_eq!(needs(|bucket| bucket.outbox = 2), nothing());
}

#[test]
fn a_missing_processor_is_a_problem_only_while_there_are_jobs() {
    assert_eq!(needs(|bucket| bucket.replicas.clear()), problem(Need::NoProcessor));
    assert_eq!(needs(|bucket| bucket.replicas[0].is_silent = true), problem(Need::NoProcessor), "it crashed");
    let idle = |bucket: &mut Census| {
        bucket.replicas.clear();
        bucket.level = 0;
    };
    assert_eq!(needs(idle), nothing());
}

#[test]
fn a_bucket_fails_when_half_of_some_calls_do_unless_it_makes_none() {
    let with = |answers, reason| {
        needs(|bucket| (bucket.recent_calls, bucket.pace.reason) = (RecentCalls::new(answers, [0; 6]), reason))
    };
    let after = |answers| with(answers, "target");
    assert_eq!(after([2, 0, 0, 0, 0, 3]), problem(Need::Failing), "without an answer");
    assert_eq!(after([5, 1, 2, 0, 2, 0]), problem(Need::Failing), "of any class");
    assert_eq!(after([3, 0, 0, 0, 2, 0]), nothing());
    assert_eq!(after([0, 0, 0, 0, 4, 0]), nothing(), "too few");
    // The upstream is there, and says when to come back.
    assert_eq!(after([0, 0, 0, 9, 0, 0]), nothing());
    assert_eq!(with([0, 0, 0, 0, 9, 0], "held"), nothing());
    assert_eq!(
        needs(|bucket| {
            bucket.recent_calls = RecentCalls::new([0, 0, 0, 0, 0, 9], [0; 6]);
            (bucket.paused, bucket.pace.reason) = (true, "paused");
        }),
        warning(Need::Paused)
    );
}

#[test]
fn a_bucket_whose_calls_have_succeeded_since_a_minute_began_fails_no_more() {
    let with = |this_minute| needs(|bucket| bucket.recent_calls = RecentCalls::new([9, 0, 0, 0, 20, 0], this_minute));
    assert_eq!(with([5, 0, 0, 0, 0, 0]), nothing());
    assert_eq!(with([4, 0, 0, 0, 0, 0]), problem(Need::Failing), "too few to know");
    assert_eq!(with([3, 0, 0, 0, 3, 0]), problem(Need::Failing));
}

#[test]
fn a_bucket_is_nearly_full_from_nine_tenths_on_and_refuses_once_a_rate_of_refusals_is_seen() {
    let at = |level, refused_per_s| needs(|bucket| (bucket.level, bucket.refused_per_s) = (level, refused_per_s));
    assert_eq!(at(89, 0.0), nothing());
    assert_eq!(at(90, 0.0), warning(Need::NearlyFull));
    assert_eq!(at(100, 0.004), warning(Need::NearlyFull));
    // A problem, and no warning of the same besides.
    assert_eq!(at(100, 0.005), problem(Need::Refusing));
    // By a rate limit or a deadline: there is room.
    assert_eq!(at(89, 5.0), nothing());
    assert_eq!(at(u64::MAX, 0.0), warning(Need::NearlyFull), "no overflow");
}

#[test]
fn a_bucket_without_room_for_bytes_is_as_full_as_one_without_room_for_jobs() {
    let at = |bytes, refused_per_s| {
        needs(|bucket| (bucket.bytes, bucket.capacity_bytes, bucket.refused_per_s) = (bytes, 1000, refused_per_s))
    };
    assert_eq!(at(899, 0.0), nothing());
    assert_eq!(at(900, 0.0), warning(Need::NearlyFull));
    assert_eq!(at(900, 1.0), problem(Need::Refusing));
}

#[test]
fn a_pause_is_a_warning_only_while_jobs_wait_for_its_end() {
    assert_eq!(needs(|bucket| bucket.paused = true), warning(Need::Paused));
    assert_eq!(needs(|bucket| (bucket.paused, bucket.level) = (true, 0)), nothing());
}

#[test]
fn a_throttle_is_a_warning_only_beyond_five_minutes() {
    let throttled = |left| needs(|bucket| bucket.pace.throttled_for = Some(left));
    assert_eq!(throttled(Duration::from_mins(5)), nothing());
    assert_eq!(throttled(Duration::from_mins(5) + Duration::from_millis(1)), warning(Need::Throttled));
}

#[test]
fn any_dead_letter_is_a_warning_and_new_ones_are_another() {
    let with = |dead, recent_dead| needs(|bucket| (bucket.dead, bucket.recent_dead) = (dead, recent_dead));
    assert_eq!(with(1, 0), warning(Need::DeadLetters));
    assert_eq!(with(2, 1), warning(Need::DeadRising));
    assert_eq!(with(0, 1), nothing(), "they were deleted or replayed");
}

#[test]
fn problems_and_warnings_stand_beside_each_other() {
    let all = |bucket: &mut Census| {
        (bucket.paused, bucket.dead, bucket.level, bucket.refused_per_s) = (true, 3, 100, 1.0);
        bucket.replicas.clear();
    };
    let (problems, warnings) = needs(all);
    assert_eq!(problems, [Need::NoProcessor, Need::Refusing]);
    assert_eq!(warnings, [Need::Paused, Need::DeadLetters]);
}
