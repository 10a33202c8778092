#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use crate::call_log::{PassedCall, PassedCalls};
use crate::results::{ApproachLine, ChartData, Implementation, Results, Row};

fn line(label: &'static str, whose: Implementation, ms: &[u64]) -> ApproachLine {
    let begin = Instant::now();
    let pass = |ms: &u64| PassedCall { asked: begin, answered: begin + Duration::from_millis(*ms) };
    ApproachLine {
        label,
        whose,
        published: None,
        passes: PassedCalls::of(ms.iter().map(pass).collect()),
        allowed_per_s: 20.0,
    }
}

/// Every tag that is opened is closed, in order, and what an attribute or a text holds is escaped.
fn is_well_formed(svg: &str) {
    let mut open = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains(" & "), "{text}");
        let name = tag.trim_end_matches('/').split_whitespace().next().unwrap();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{tag}"),
            None if tag.ends_with('/') || tag.starts_with('?') || tag.starts_with('!') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Returns the number of rectangles of this colour.
fn rectangles(svg: &str, colour: &str) -> usize {
    svg.split('<').filter(|tag| tag.starts_with("rect") && tag.contains(colour)).count()
}

const AMBER: &str = "#D97706";
const BLUE: &str = "#2563EB";
const RED: &str = "#BE183C";

#[test]
fn a_chart_of_lines_has_a_panel_for_each_with_its_calls() {
    let lines = vec![
        line("gates & <windows>", Implementation::Published, &[0, 10, 20, 350]),
        line("kind gate", Implementation::Ours, &[0, 100, 200, 300, 400]),
    ];
    let svg = Results { rows: Vec::new(), shown: ChartData::Lines { lines, load: Duration::ZERO } }
        .chart("What got through")
        .unwrap();
    is_well_formed(&svg);
    for text in ["What got through", "gates &amp; &lt;windows&gt;", "kind gate", "dripfeed", "calls / 100 ms"] {
        assert!(svg.contains(text), "{text}");
    }
    for text in ["seconds since the first call", "4 calls, at most 3 in 100 ms", "5 calls, at most 1 in 100 ms"] {
        assert!(svg.contains(text), "{text}");
    }
    // A bar for each 100 ms in which a call passed, and one in the legend.
    assert_eq!(rectangles(&svg, AMBER), 2 + 1);
    assert_eq!(rectangles(&svg, BLUE), 5 + 1);
    assert!(svg.contains(RED), "the limit");
}

#[test]
fn a_chart_of_nothing_is_a_chart() {
    let lines = vec![line("nothing got through", Implementation::Ours, &[])];
    let svg =
        Results { rows: Vec::new(), shown: ChartData::Lines { lines, load: Duration::ZERO } }.chart("Nothing").unwrap();
    is_well_formed(&svg);
    assert!(svg.contains("0 calls"));
}

#[test]
fn a_chart_of_costs_has_a_bar_for_each_row() {
    let rows =
        vec![Row::new("three tiers, µs", 9.3).at_most(10_u64), Row::new("three scopes, µs", 17.0).at_most(20_u64)];
    let shown = ChartData::Costs { unit: "µs of Redis", rows: rows.clone() };
    let svg = Results { rows, shown }.chart("What a decision costs").unwrap();
    is_well_formed(&svg);
    assert!(svg.contains("three tiers, µs: 9.30 (≤ 10)"), "{svg}");
    assert!(svg.contains("µs of Redis"));
    assert_eq!(rectangles(&svg, BLUE), 2 + 1);
}
