//! The table of sizes in the operations guide, worked out again from the committed report of `make bench`.

use std::collections::HashMap;
use std::fs;

use dripfeed_tests::sources::from_the_root;
use serde_json::Value;

/// Medians by figure: times in µs, memory in bytes or MiB.
fn figures() -> HashMap<String, f64> {
    let report = fs::read_to_string(from_the_root("tests/bench/report.json")).expect("the report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let figures = report["figures"].as_array().expect("a list").iter();
    let median = |figure: &Value| {
        let name = figure["figure"].as_str().expect("a name").to_owned();
        (name, figure["measured"]["median"].as_f64().expect("a number"))
    };
    figures.map(median).collect()
}

/// With two digits.
fn rounded(number: f64) -> String {
    match number {
        100.0.. => format!("{:.0}", (number / 10.0).round() * 10.0),
        10.0.. => format!("{number:.0}"),
        1.0.. => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

#[test]
fn the_table_of_sizes_is_that_of_the_report() {
    let (guide, of) = (fs::read_to_string(from_the_root("config/README.md")).expect("the guide"), figures());
    for (shown, jobs) in [("100", 100.0), ("1,000", 1_000.0), ("10,000", 10_000.0)] {
        let core = |figure: &str| Some(jobs * of[figure] / 1e6 * 100.0).filter(|share| *share <= 100.0);
        let share = |figure| core(figure).map_or("–".to_owned(), |share| format!("{} %", rounded(share)));
        let shares = ["latency-redis", "redis-cpu", "accepted-intake", "drain-processor"].map(share).join(" | ");
        for role in ["accepted-intake", "drain-processor"] {
            assert!(core(role).is_some(), "{shown} jobs/s need more than one process: {role}");
        }
        let row = format!("| {shown} | {shares} | {} MB |", rounded(jobs * 60.0 * of["bytes-queued"] / 1e6));
        assert!(guide.contains(&row), "the guide hasn't the row {row}");
    }
    for said in [
        format!("kept takes {} B", rounded(of["bytes-left"])),
        format!("takes {} MiB and an idle processor {} MiB", rounded(of["idle-intake"]), rounded(of["idle-processor"])),
    ] {
        assert!(guide.contains(&said), "the guide doesn't say: {said}");
    }
}
