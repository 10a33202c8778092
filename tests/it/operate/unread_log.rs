use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::AsFd as _;
use std::process::Stdio;
use std::thread;

use dripfeed_tests::client::Client;
use dripfeed_tests::redis_server::free_port;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::process::Child;

/// A pipe without room.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    let has_room = |writer: &PipeWriter| {
        poll(&mut [PollFd::new(writer.as_fd(), PollFlags::POLLOUT)], PollTimeout::ZERO).expect("a pipe") > 0
    };
    while has_room(&writer) {
        writer.write_all(&[b'\n'; 4096]).expect("room in the pipe");
    }
    (reader, writer)
}

/// A role that logs all that there is, to a pipe that nobody reads.
async fn unread(service: &Service, role: &str) -> (Child, Client, PipeReader) {
    let (reader, writer) = full_pipe();
    let address = format!("127.0.0.1:{}", free_port());
    let listen = format!("{role}.listen=\"{address}\"");
    let mut command = service.command(&[&listen, "log.level=trace", "log.format=json"]);
    let child = command.arg(role).stderr(Stdio::from(writer)).spawn().expect("the executable can be started");
    let client = Client::to(address.parse().expect("an address"));
    until("it is ready", async || client.get("/readyz").await.is_ok_and(|answer| answer.status == 200)).await;
    (child, client, reader)
}

fn signal(child: &Child, signal: Signal) {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).expect("it runs");
    signal::kill(Pid::from_raw(id), signal).expect("a signal to our own child");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_nobody_reads_stops_nothing_and_counts_what_it_lost() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\n", upstream.url())).await;
    let (mut intake, client, intake_log) = unread(&service, "intake").await;
    let (mut processor, _, processor_log) = unread(&service, "processor").await;
    for _ in 0..10 {
        assert_eq!(client.submit("b", "x").await.expect("an answer").status, 202);
    }
    service.drained("b").await;

    for (role, log) in [(&mut intake, intake_log), (&mut processor, processor_log)] {
        let reading = thread::spawn(move || io::read_to_string(log));
        signal(role, Signal::SIGTERM);
        assert!(role.wait().await.expect("our own child").success());
        let log = reading.join().expect("no panic").expect("text");
        let lines = log.lines().filter(|line| !line.is_empty()).filter_map(|line| serde_json::from_str(line).ok());
        let lines: Vec<Value> = lines.collect();
        let dropped = lines.iter().find(|line| line["lines"].is_u64()).expect("a line on those that were dropped");
        assert!(dropped["message"].as_str().is_some_and(|text| text.starts_with("log lines dropped")), "{dropped}");
        assert!(lines.iter().any(|line| line["message"].as_str().is_some_and(|text| text.contains("stopped"))));
    }
}
