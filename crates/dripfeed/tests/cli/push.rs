/// Pushes that end before the last line, and what is under way meanwhile.
mod ends;
/// What a push reads, and prints of answers.
mod input;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use nix::sys::signal::Signal;

use tempfile::TempDir;

use crate::intake::{BUCKET, Intake};
use crate::program::{Running, dripfeed, run, write};

#[tokio::test]
async fn a_file_of_jobs_goes_in_once_however_often_it_is_pushed() {
    let intake = Intake::start(&BUCKET.replace("capacity = 3", "capacity = 500")).await;
    let lines: String = (0..200).map(|n| format!("{{\"event\":\"e\",\"body\":{{\"n\": {n}}}}}\n")).collect();
    let file = write(intake.folder.path(), "jobs.ndjson", &format!("{lines}\nnot json\n{{\"no\":\"body\"}}\n"));
    let push = || run(&["push", "mail", "--ndjson", &file, "--run-id", "again", "--server", &intake.server]);

    let first = push();
    assert_eq!(first.code, Some(1), "two lines hold no job: {}", first.err);
    assert_eq!(first.out.lines().count(), 200);
    for message in ["200 jobs accepted, 2 lines failed", "line 202:", "line 203:", "`event`"] {
        assert!(first.err.contains(message), "{message}: {}", first.err);
    }
    assert_eq!(first.err.matches("`event`").count(), 1, "said once");
    assert_eq!(push().out, first.out, "the same jobs");
    assert_eq!(run(&["purge", "mail", "--yes", "--server", &intake.server]).out.trim(), "200 jobs purged");
    intake.end().await;
}

#[tokio::test]
async fn an_interrupted_push_says_how_to_go_on_without_duplicates() {
    let intake = Intake::start(BUCKET).await;
    let file = write(intake.folder.path(), "jobs.ndjson", &"{\"body\":1}\n".repeat(5));
    let push = Running::start(&mut dripfeed(&["push", "mail", "--ndjson", &file, "--server", &intake.server]));
    push.says("the bucket is full; retrying in ");
    push.signal(Signal::SIGINT);
    for _ in 0..3 {
        push.prints("-");
    }
    let (code, log) = push.end_with_log();
    assert_eq!(code, Some(1));
    assert!(log.iter().any(|line| line.contains("run the same command with --run-id ")), "{log:?}");
    intake.end().await;
}

#[tokio::test]
async fn a_push_that_fails_on_its_way_prints_the_jobs_that_were_accepted() {
    let intake = Intake::start(BUCKET).await;
    let file = write(intake.folder.path(), "jobs.ndjson", &"{\"body\":1}\n".repeat(5));
    let push = Running::start(&mut dripfeed(&["push", "mail", "--ndjson", &file, "--server", &intake.server]));
    push.says("the bucket is full; retrying");
    intake.reload(&BUCKET.replace("mail", "other"));
    push.says("3 jobs accepted, 0 lines failed");
    push.says("--run-id ");
    push.says("unknown_bucket");
    for _ in 0..3 {
        push.prints("-");
    }
    intake.end().await;
}

/// As where the disk is full to which the ids go.
#[tokio::test]
async fn a_push_that_cannot_print_says_how_many_were_accepted() {
    let intake = Intake::start(BUCKET).await;
    let file = write(intake.folder.path(), "jobs.ndjson", &"{\"body\":1}\n".repeat(3));
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut push = dripfeed(&["push", "mail", "--ndjson", &file, "--server", &intake.server]);
    let pushed = push.stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&pushed.stderr);
    assert_eq!(pushed.status.code(), Some(1), "{said}");
    assert!(said.contains("3 jobs accepted, 0 lines failed") && said.contains("--run-id "), "{said}");
    intake.end().await;
}

/// There is nothing that a second run could submit twice.
#[test]
fn a_push_that_sent_nothing_has_nothing_to_resume() {
    let folder = TempDir::new().unwrap();
    let file = write(folder.path(), "jobs.ndjson", "{\"body\":1}\n");
    let broken = write(folder.path(), "broken.ndjson", "no json\n");
    for (file, code) in [(&file, 69), (&broken, 1)] {
        let pushed = run(&["push", "mail", "--ndjson", file, "--server", "http://127.0.0.1:1"]);
        assert_eq!(pushed.code, Some(code), "{}", pushed.err);
        assert!(pushed.err.contains("0 jobs accepted") && !pushed.err.contains("--run-id"), "{}", pushed.err);
    }
}

#[tokio::test]
async fn a_line_that_cannot_be_read_keeps_no_other_back() {
    let intake = Intake::start(BUCKET).await;
    let file = intake.folder.path().join("jobs.ndjson");
    fs::write(&file, b"{\"body\":1}\n{\"body\":\"\xff\"}\r\n{\"body\":\"\\ud800\"}\n{\"body\":4}").unwrap();
    let pushed = run(&["push", "mail", "--ndjson", file.to_str().unwrap(), "--server", &intake.server]);
    assert_eq!((pushed.code, pushed.out.lines().count()), (Some(1), 2), "{}", pushed.err);
    for said in ["line 2: is not UTF-8", "line 3: is not valid JSON", "2 jobs accepted, 2 lines failed"] {
        assert!(pushed.err.contains(said), "{said}: {}", pushed.err);
    }
    intake.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_waited_for_reports_how_it_ended() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", upstream.local_addr().unwrap());
    std::thread::spawn(move || {
        for call in upstream.incoming() {
            let mut call = BufReader::new(call.unwrap());
            let mut line = String::new();
            while call.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            call.read_exact(&mut [0]).unwrap();
            let _ =
                call.get_mut().write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let intake = Intake::start(&BUCKET.replace("http://127.0.0.1:1/", &url)).await;
    let push = |more: &[&str]| run(&[&["push", "mail", "--body", "x", "--server", &intake.server], more].concat());
    let waits = push(&["--wait", "1"]);
    assert!(waits.code == Some(0) && waits.err.contains("not delivered yet"), "{}", waits.err);
    let _processor = intake.processor();
    let dead = push(&["--wait", "30"]);
    assert_eq!(dead.code, Some(1), "{}", dead.err);
    assert!(dead.err.contains("the job is dead") && dead.err.contains("(status 404)"), "{}", dead.err);
    let dead = push(&["--wait", "30", "-o", "json"]);
    let job: serde_json::Value = serde_json::from_str(&dead.out).unwrap();
    assert_eq!((dead.code, &job["state"], &job["outcome"]["status"]), (Some(1), &"dead".into(), &404.into()));
    intake.end().await;
}
