use std::fs;

use crate::program::{dripfeed, run, write};

#[test]
fn descriptions_are_printed_without_a_server() {
    let api: serde_json::Value = serde_json::from_str(&run(&["openapi"]).out).unwrap();
    assert!(api["paths"]["/v1/buckets/{bucket}/jobs"].is_object());
    assert!(run(&["completions", "bash"]).out.contains("dripfeed"));
    assert!(run(&["--version"]).out.starts_with("dripfeed "));
}

#[test]
fn the_help_of_a_command_begins_with_the_options_that_it_reads() {
    for (command, reads_settings) in [("push", false), ("buckets", false), ("check", true), ("processor", true)] {
        let help = run(&[command, "--help"]).out;
        let (used, unused) = help.split_once("not used by this one").unwrap_or((&help, ""));
        for option in ["--config", "--set <", "--insecure-no-auth"] {
            assert_eq!(used.contains(option), reads_settings, "{command} {option}: {help}");
            assert_eq!(unused.contains(option), !reads_settings, "{command} {option}: {help}");
        }
    }
    assert_eq!(run(&["completions", "bash", "-c", "dripfeed.toml"]).code, Some(0), "before and after any command");
}

#[test]
fn the_help_of_a_command_has_the_options_of_the_connection_last() {
    for command in [&["bucket", "put"][..], &["dead", "b", "export"], &["schedule", "b", "put"], &["push"]] {
        let help = run(&[command, &["--help"]].concat()).out;
        let (own, connection) = help.split_once("--server").unwrap();
        assert!(!own.contains("--key-file") && !own.contains("--ca "), "{command:?}: {help}");
        let options = connection.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
        let names: Vec<&str> = options.map_while(|line| line.split(' ').next()).take(2).collect();
        assert_eq!(names, ["key-file", "ca"], "{command:?}: {help}");
    }
}

#[test]
fn a_shell_completes_files_where_one_is_named() {
    let zsh = run(&["completions", "zsh"]).out;
    let named: Vec<&str> = zsh.lines().filter(|line| line.contains("]:FILE:") || line.contains("]:DIR:")).collect();
    assert!(named.iter().any(|line| line.contains("--ca=")), "{named:?}");
    assert!(named.iter().all(|line| line.contains(":_files")), "{named:#?}");
}

/// As where the disk is full.
#[test]
fn output_that_cannot_be_written_is_reported_as_an_error() {
    for command in ["openapi", "config"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = dripfeed(&[command]).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("can't write to standard output: No space left"), "{command}: {said}");
        assert_eq!(ended.status.code(), Some(1), "{command}");
    }
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
    // As it is typed.
    let synopsis = page("dripfeed-dead-delete.1").replace('\\', "");
    assert!(synopsis.contains("dripfeed dead <BUCKET> delete [OPTIONS] <ID|--all>"), "{synopsis}");
    // Exit codes, and one command beside the others.
    assert!(page("dripfeed.1").contains("configuration") && page("dripfeed.1").contains("dripfeed\\-push"));
    let file = write(folder.path(), "file", "");
    let refused = run(&["man", &file]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains(&file), "{}", refused.err);
}

#[test]
fn help_that_cannot_be_written_is_an_error_and_nobody_reading_it_is_none() {
    for arguments in [&["--help"][..], &["--version"], &["push", "--help"], &["intake", "-h"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = crate::program::ended(dripfeed(arguments).stdout(full).output().unwrap());
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("can't write to standard output"), "{arguments:?}: {}", ended.err);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = crate::program::ended(dripfeed(arguments).stdout(writer).output().unwrap());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}
