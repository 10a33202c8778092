//! Each bug is planted in a separate process, because the scripts of a process never change.

use std::env;
use std::process::Command;

const MODEL: &str = "bucket::turns_model::no_history_breaks_turns_or_an_own_pace_or_loses_a_job";

/// The bugs, and the failure of the model with each.
const BUGS: [(&str, &str); 7] = [
    ("flow_clock_is_the_wall_clock", "in a window beyond its rate"),
    ("flow_clock_runs_once_for_each_replica", "in a window beyond its rate"),
    ("call_of_group_not_charged", "in a window beyond its rate"),
    ("only_first_rate_is_looked_at", "in a window beyond its rate"),
    ("flow_calls_forgotten", "calls under way of"),
    ("first_delivery_is_second", "the first delivery of"),
    ("group_stays_behind", "is handed out twice at once"),
];

#[test]
fn each_planted_bug_is_found() {
    let missed: Vec<_> = BUGS.into_iter().filter(|(bug, finding)| !is_found(bug, finding)).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

fn is_found(bug: &str, finding: &str) -> bool {
    let mut model = Command::new(env::current_exe().expect("this program"));
    model.args(["--exact", MODEL, "--nocapture"]).env("DRIPFEED_PLANT", bug);
    // The first failure is enough, so it isn't shortened.
    model.env("PROPTEST_CASES", "600").env("PROPTEST_MAX_SHRINK_ITERS", "0");
    let output = model.output().expect("the model runs");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let found = !output.status.success() && text.contains(finding);
    println!("{bug}: {}", if found { "found" } else { "NOT FOUND" });
    found
}
