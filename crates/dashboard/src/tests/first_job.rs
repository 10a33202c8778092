use axum::routing::get;
use serde_json::{Value, json};

use super::{api, asked, bucket, frame, over, text};

const HEADING: &str = "Submit a first job";
const GONE: &str = r#"["first-job","<div id=\"first-job\"></div>"]"#;

/// A bucket that has accepted this number of jobs, and a second later one more.
fn accepting(accepted: u64) -> (Value, [Value; 2]) {
    let after = |accepted: u64| {
        let mut state = bucket("b", 100);
        state["totals"]["accepted"] = accepted.into();
        state
    };
    let frame = |at: &str, accepted: u64| {
        let mut frame = frame(at);
        (frame["states"], frame["summary"]["buckets"]) = (json!([after(accepted)]), 1.into());
        frame
    };
    let frames = [frame("2026-11-23T14:03:00Z", accepted), frame("2026-11-23T14:03:01Z", accepted + 1)];
    (after(accepted), frames)
}

#[test]
fn the_first_job_takes_its_command_off_the_page() {
    let (state, frames) = accepting(0);
    let list = json!({ "items": [state], "next": null }).to_string();
    let state = state.to_string();
    let routes =
        api(&frames).route("/v1/buckets", get(async move || list)).route("/v1/buckets/b", get(async move || state));
    let page = over(routes);
    for path in ["/", "/buckets/b"] {
        let shown = text(asked(&page, path));
        assert!(shown.contains(HEADING) && shown.contains("id=\"first-job\""), "{path}: {shown}");
    }
    for path in ["/live/buckets?names=b&of=1", "/live/buckets/b"] {
        let events = text(asked(&page, path));
        let gone: Vec<bool> = events.split_terminator("\n\n").map(|event| event.contains(GONE)).collect();
        assert_eq!(gone, [false, true], "{path}: {events}");
    }
}
