use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::Signal;

use crate::intake::{BUCKET, EndedIntake, Intake};
use crate::program::{dripfeed, run, write};
use crate::terminal::{Left, Terminal};

/// How it is to be left.
const WELL: Left = Left { code: Some(0), edits_lines: true };

fn top(intake: &Intake) -> Terminal {
    let terminal = Terminal::start(&mut dripfeed(&["top", "--server", &intake.server]));
    terminal.shows("● live");
    terminal
}

fn is_paused(intake: &Intake) -> bool {
    let shown = run(&["buckets", "mail", "-o", "json", "--server", &intake.server]).out;
    serde_json::from_str::<serde_json::Value>(&shown).unwrap()["paused"].as_bool().unwrap()
}

#[tokio::test]
async fn one_frame_is_printed_as_text_and_as_json() {
    let intake =
        Intake::start(&BUCKET.replace("capacity = 3", "capacity = 3\n[buckets.mail.leak]\nrate = \"5/s\"")).await;
    let run = |arguments: &[&str]| run(&[arguments, &["--server", &intake.server]].concat());
    assert_eq!(run(&["push", "mail", "--body", "x"]).code, Some(0));

    let once = run(&["top", "--once"]);
    assert_eq!((once.code, once.err.as_str()), (Some(0), ""));
    for shown in [
        "1 bucket",
        "■ mail: no processor serves it, and 1 job waits",
        "1/3",
        "No processor serves it. Its rate is 5/s.",
    ] {
        assert!(once.out.contains(shown), "{shown}:\n{}", once.out);
    }
    assert!(!once.out.contains('\x1b'), "{}", once.out);

    let json = run(&["top", "mail", "--once", "-o", "json"]);
    let frame: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&frame["states"][0]["level"], &frame["summary"]["buckets"]), (&1.into(), &1.into()));

    let unknown = run(&["top", "mail", "post", "--once"]);
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown.out.contains("1/3") && unknown.err.contains("no such bucket for this key: post"),
        "{}",
        unknown.err
    );
    intake.end().await;
}

#[test]
fn without_a_terminal_one_frame_is_all_there_is() {
    for arguments in [["top"].as_slice(), &["top", "-o", "json"]] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert!(ended.err.contains("--once"), "{}", ended.err);
    }
}

#[tokio::test]
async fn a_key_that_may_not_read_is_not_allowed() {
    // Of `opensesame`.
    let hash = "d9fb92e3bbe65be1f1aad4a82eef4567f7a1ebe2cd110c8049b9698be7a70c88";
    let key = format!("[[keys]]\nid = \"shop\"\nsha256 = \"{hash}\"\nscopes = [\"submit\"]\n");
    let intake = Intake::start(&format!("{BUCKET}{key}")).await;
    let file = write(intake.folder.path(), "key", "opensesame\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let ended = run(&["top", "--once", "--server", &intake.server, "--key-file", &file]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(77), ""), "{}", ended.err);
    intake.end().await;
}

#[tokio::test]
async fn keys_pause_a_bucket_and_resume_it() {
    let intake = Intake::start(BUCKET).await;
    let mut terminal = top(&intake);
    terminal.shows("mail");
    terminal.types("p");
    terminal.shows("Pause mail?");
    terminal.types("n");
    terminal.shows("p pause");
    assert!(!is_paused(&intake));
    terminal.types("py");
    terminal.shows("mail is paused");
    terminal.shows("‖ paused");
    assert!(is_paused(&intake));
    terminal.types("\r");
    terminal.shows("Replicas");
    terminal.types("py");
    terminal.shows("mail is resumed");
    assert!(!is_paused(&intake));
    terminal.types("?");
    terminal.shows("Keys");
    terminal.types("q");
    assert_eq!(terminal.left(), WELL);
    intake.end().await;
}

#[tokio::test]
async fn a_lost_intake_is_reported_and_found_again() {
    let intake = Intake::start(BUCKET).await;
    let mut terminal = top(&intake);
    let ended = EndedIntake::of(intake);
    terminal.shows("✕ gone");
    let intake = ended.start();
    terminal.shows("● live");
    terminal.types("q");
    assert_eq!(terminal.left(), WELL);
    intake.end().await;
}

#[tokio::test]
async fn a_signal_leaves_the_terminal_as_it_was() {
    let intake = Intake::start(BUCKET).await;
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let terminal = top(&intake);
        terminal.signal(signal);
        assert_eq!(terminal.left(), WELL, "{signal}");
    }
    intake.end().await;
}
