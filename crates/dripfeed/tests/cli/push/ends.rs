use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::program::{Running, dripfeed, write};

const PATIENCE: Duration = Duration::from_secs(60);
/// Of the batches that `push` sends at once.
const UNDER_WAY: usize = 4;

/// A batch that arrived at a server that answers when the test says so.
struct Arrived {
    first: String,
    answer: Sender<String>,
}

fn server() -> (String, Receiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (arrive, arrived) = channel();
    std::thread::spawn(move || {
        for call in listener.incoming() {
            let arrive = arrive.clone();
            std::thread::spawn(move || serve(call.unwrap(), &arrive));
        }
    });
    (url, arrived)
}

fn serve(stream: TcpStream, arrive: &Sender<Arrived>) {
    let mut call = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        while call.read_line(&mut line).is_ok_and(|read| read > 2) {
            let lower = line.to_lowercase();
            length = lower.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
            line.clear();
        }
        let mut body = vec![0; length];
        if length == 0 || call.read_exact(&mut body).is_err() {
            return;
        }
        let first = String::from_utf8(body).unwrap().lines().next().unwrap().to_owned();
        let (answer, answered) = channel();
        if arrive.send(Arrived { first, answer }).is_err() {
            return;
        }
        let Ok(answer) = answered.recv() else { return };
        let _ = call.get_mut().write_all(answer.as_bytes());
    }
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The whole batch is accepted, as `<name>-0` to `<name>-63`.
fn accepted(name: usize) -> String {
    let items: Vec<String> = (0..64).map(|n| format!(r#"{{"status":202,"id":"{name}-{n}"}}"#)).collect();
    answer("202 Accepted", &format!(r#"{{"items":[{}]}}"#, items.join(",")))
}

fn push(folder: &TempDir, server: &str, batches: usize) -> Running {
    let file = write(folder.path(), "jobs.ndjson", &"{\"body\":1}\n".repeat(64 * batches));
    Running::start(&mut dripfeed(&["push", "mail", "--ndjson", &file, "--run-id", "r", "--server", server]))
}

fn under_way(arrived: &Receiver<Arrived>) -> Vec<Arrived> {
    let mut batches: Vec<Arrived> = (0..UNDER_WAY).map(|_| arrived.recv_timeout(PATIENCE).unwrap()).collect();
    let line = |batch: &Arrived| batch.first.split("push-r-").nth(1).unwrap().split('"').next().unwrap().parse::<u32>();
    batches.sort_by_key(|batch| line(batch).unwrap());
    batches
}

#[test]
fn an_interrupted_push_prints_the_jobs_that_are_accepted_meanwhile() {
    let (folder, (server, arrived)) = (TempDir::new().unwrap(), server());
    let push = push(&folder, &server, 9);
    let batches = under_way(&arrived);
    push.signal(Signal::SIGINT);
    push.says("interrupted");
    for (name, batch) in batches.into_iter().enumerate() {
        batch.answer.send(accepted(name + 1)).unwrap();
    }
    for name in 1..=UNDER_WAY {
        push.prints(&format!("{name}-63"));
    }
    push.says("256 jobs accepted, 0 lines failed");
    push.says("--run-id r");
    assert_eq!(push.end(), Some(1));
    assert!(arrived.try_recv().is_err(), "a further batch was sent");
}

#[test]
fn an_interrupted_push_waits_for_no_answer_that_does_not_come() {
    let (folder, (server, arrived)) = (TempDir::new().unwrap(), server());
    let push = push(&folder, &server, 4);
    let _unanswered = under_way(&arrived);
    push.signal(Signal::SIGINT);
    push.says("interrupted: jobs under way are awaited, at most 10s");
    push.says("0 jobs accepted, 0 lines failed");
    push.says("jobs under way may be accepted, too");
    push.says("--run-id r");
    assert_eq!(push.end(), Some(1));
}

#[test]
fn a_push_that_fails_prints_the_jobs_that_are_accepted_meanwhile() {
    let (folder, (server, arrived)) = (TempDir::new().unwrap(), server());
    let push = push(&folder, &server, 9);
    let mut batches = under_way(&arrived).into_iter();
    batches.next().unwrap().answer.send(answer("403 Forbidden", r#"{"title":"No","code":"forbidden"}"#)).unwrap();
    for (name, batch) in batches.enumerate() {
        batch.answer.send(accepted(name + 1)).unwrap();
    }
    for name in 1..UNDER_WAY {
        push.prints(&format!("{name}-63"));
    }
    push.says("192 jobs accepted, 0 lines failed");
    push.says("error: No (forbidden)");
    assert_eq!(push.end(), Some(77));
}

#[test]
fn a_push_ends_when_the_server_asks_to_wait_too_long() {
    let (server, arrived) = server();
    std::thread::spawn(move || {
        let refusal = "HTTP/1.1 429 No\r\nretry-after: 100000\r\ncontent-length: 0\r\n\r\n";
        arrived.iter().for_each(|batch| drop(batch.answer.send(refusal.to_owned())));
    });
    let folder = TempDir::new().unwrap();
    let file = write(folder.path(), "jobs.ndjson", "{\"body\":1}\n");
    let arguments = ["push", "mail", "--ndjson", &file, "--server", &server];
    let push = Running::start(&mut dripfeed(&arguments));
    push.says("--run-id ");
    push.says("asks to wait 27h 46m 40s, longer than --max-wait 1h: the server answered 429 Too Many Requests");
    assert_eq!(push.end(), Some(75));
    let push = Running::start(&mut dripfeed(&[&arguments[..], &["--max-wait", "2d"]].concat()));
    push.says("the server answered 429 Too Many Requests; retrying in 27h 46m 40s");
    push.signal(Signal::SIGINT);
    push.says("error: interrupted");
    assert_eq!(push.end(), Some(1));
}
