use std::fs;

use crate::program::{run, write};

#[test]
fn descriptions_are_printed_without_a_server() {
    let api: serde_json::Value = serde_json::from_str(&run(&["openapi"]).out).unwrap();
    assert!(api["paths"]["/v1/buckets/{bucket}/jobs"].is_object());
    assert!(run(&["completions", "bash"]).out.contains("dripfeed"));
    assert!(run(&["--version"]).out.starts_with("dripfeed "));
}

#[test]
fn each_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(run(&["man", pages.to_str().unwrap()]).code, Some(0));
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    for command in ["", "-intake", "-push", "-dead-replay", "-man"] {
        assert!(page(&format!("dripfeed{command}.1")).contains(".SH SYNOPSIS"), "{command}");
    }
    // Exit codes, and one command beside the others.
    assert!(page("dripfeed.1").contains("configuration") && page("dripfeed.1").contains("dripfeed\\-push"));
    let file = write(folder.path(), "file", "");
    let refused = run(&["man", &file]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains(&file), "{}", refused.err);
}
