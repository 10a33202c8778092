use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use crate::intake::{BUCKET, Intake};
use crate::program::{Running, dripfeed, run, write};
use crate::terminal::Terminal;

#[tokio::test]
async fn a_line_of_a_pipe_is_submitted_while_the_pipe_stays_open() {
    let intake = Intake::start(BUCKET).await;
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut command = dripfeed(&["push", "mail", "--ndjson", "-", "--server", &intake.server]);
    let push = Running::start(command.stdin(Stdio::from(reader)));
    drop(command);
    for _ in 0..2 {
        writer.write_all(b"{\"body\":1}\n").unwrap();
        push.prints("-");
    }
    // The rest of a line may come later.
    writer.write_all(b"{\"bo").unwrap();
    writer.write_all(b"dy\":1}").unwrap();
    drop(writer);
    push.prints("-");
    push.says("3 jobs accepted, 0 lines failed");
    intake.end().await;
}

#[tokio::test]
async fn no_part_of_a_line_is_dropped_in_silence() {
    let intake = Intake::start(&BUCKET.replace("capacity = 3", "capacity = 500")).await;
    let lines = [
        "\u{feff}{\"body\":1}\r",
        "{\"body\":2,\"body\":3}",
        "{\"body\":4,\"options\":{\"delay\":\"1h\",\"delay\":\"2h\"}}",
        "{\"body\":{\"a\":5,\"a\":6}}",
        &format!("{{\"body\":\"{}\"}}", "x".repeat(9 << 20)),
        "{\"body\":7}",
    ];
    let file = write(intake.folder.path(), "jobs.ndjson", &lines.join("\n"));
    let pushed = run(&["push", "mail", "--ndjson", &file, "--server", &intake.server]);
    assert_eq!((pushed.code, pushed.out.lines().count()), (Some(1), 3), "{}", pushed.err);
    for said in [
        "line 2: `body` is given twice",
        "line 3: `delay` of `options` is given twice",
        "line 5: has more than 8MiB",
        "3 jobs accepted, 3 lines failed",
    ] {
        assert!(pushed.err.contains(said), "{said}: {}", pushed.err);
    }
    let folder = intake.folder.path().to_str().unwrap().to_owned();
    let pushed = run(&["push", "mail", "--ndjson", &folder, "--server", &intake.server]);
    assert!(pushed.code == Some(1) && pushed.err.contains(&format!("can't read {folder}: ")), "{}", pushed.err);
    intake.end().await;
}

/// Not even one without an end is read whole.
#[test]
fn a_body_that_no_intake_takes_is_not_sent() {
    let refused = run(&["push", "mail", "--file", "/dev/zero"]);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.err.contains("/dev/zero has more than 4MiB"), "{}", refused.err);
}

/// An intake whose upstream answered this.
fn answered(headers: &str, body: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let head = format!(
        "HTTP/1.1 200 OK\r\ndripfeed-job-id: 1-0\r\ndripfeed-upstream-status: 200\r\nconnection: close\r\n{headers}\r\n"
    );
    std::thread::spawn(move || {
        for call in listener.incoming() {
            let mut call = call.unwrap();
            let _ = call.read(&mut [0; 4096]);
            let _ = call.write_all(&[head.as_bytes(), body].concat());
        }
    });
    url
}

#[test]
fn an_answer_is_printed_as_it_came() {
    let push = |server: &str, more: &[&str]| {
        dripfeed(&[&["push", "mail", "--body", "x", "--wait", "5", "--server", server], more].concat())
    };
    let zipped = answered("content-encoding: gzip\r\ndripfeed-truncated: true\r\n", b"\x1f\x8b\xff\0\n");
    let printed = push(&zipped, &[]).output().unwrap();
    assert_eq!(printed.stdout, b"\x1f\x8b\xff\0\n");
    let said = String::from_utf8(printed.stderr).unwrap();
    assert!(said.contains("compressed (gzip)") && said.contains("only its first 5 bytes were kept"), "{said}");
    let printed = push(&zipped, &["-o", "json"]).output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!((&printed["content_encoding"], &printed["truncated"]), (&"gzip".into(), &true.into()));
    let text = push(&answered("", b"ok"), &[]).output().unwrap();
    assert_eq!((text.stdout.as_slice(), text.stderr.as_slice()), (&b"ok\n"[..], &b""[..]));
    // A terminal obeys nothing in it.
    let coloured = answered("", b"a\x1b]0;title\x07b");
    Terminal::start(&mut push(&coloured, &[])).shows("a\\u{1b}]0;title\\u{7}b");
}

#[test]
fn a_bar_does_not_disturb_the_ids_on_the_same_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "jobs.ndjson", "{\"body\":1}\n{\"body\":2}\n{\"body\":3}\n");
    let terminal = Terminal::start(&mut dripfeed(&["push", "mail", "--ndjson", &file, "--server", &server]));
    let (mut call, _) = listener.accept().unwrap();
    let _ = call.read(&mut [0; 4096]);
    let refused = serde_json::json!({"status": 422, "problem": {"title": "Invalid option", "code": "bad_option"}});
    let accepted = |id: &str| serde_json::json!({"status": 202, "id": id});
    let items = [accepted("1-0"), refused, accepted("3-0")];
    let answer = serde_json::json!({"accepted": 2, "refused": 1, "items": items}).to_string();
    let head = "HTTP/1.1 202 Accepted\r\nconnection: close\r\ncontent-length:";
    write!(call, "{head} {}\r\n\r\n{answer}", answer.len()).unwrap();
    terminal.shows("1-0\n3-0\nline 2: Invalid option (bad_option)\n2 jobs accepted");
}

#[test]
fn a_wait_that_no_intake_would_wait_is_refused() {
    let refused = run(&["push", "mail", "--body", "x", "--wait", "61"]);
    assert!(refused.code == Some(2) && refused.err.contains("60"), "{}", refused.err);
}

#[test]
fn a_push_without_an_answer_says_how_to_repeat_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for call in listener.incoming() {
            let _ = call.unwrap().read(&mut [0; 4096]);
        }
    });
    let push = |more: &[&str]| run(&[&["push", "mail", "--body", "x", "--server", &server], more].concat());
    let unknown = push(&[]);
    assert_eq!(unknown.code, Some(69), "{}", unknown.err);
    for said in ["no complete response", "isn't known whether the job was stored", "--idempotency-key"] {
        assert!(unknown.err.contains(said), "{said}: {}", unknown.err);
    }
    assert!(push(&["--idempotency-key", "k"]).err.contains("the same --idempotency-key"), "{}", unknown.err);
    let unsent = run(&["push", "mail", "--body", "x", "--server", "http://127.0.0.1:1"]);
    assert!(unsent.code == Some(69) && !unsent.err.contains("--idempotency-key"), "{}", unsent.err);
}
