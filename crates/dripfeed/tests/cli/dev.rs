use std::net::TcpListener;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::program::{PATIENT, Running, dripfeed, run, write};

/// `dripfeed dev` on free ports, its data in its own folder.
fn dev(folder: &TempDir, more: &[&str]) -> Running {
    let data = folder.path().join("my data").display().to_string();
    let arguments = ["dev", "--port", "0", "--echo-port", "0", "--data", &data];
    Running::start(&mut dripfeed(&[&arguments, more].concat()))
}

/// The process that stands in `processor 1 is process 4711: …`.
fn process(line: &str) -> Pid {
    let number = line.split("process ").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    Pid::from_raw(number.parse().unwrap())
}

#[test]
fn everything_runs_with_nothing_to_configure() {
    let folder = TempDir::new().unwrap();
    let dev = dev(&folder, &[]);
    let server = dev.address();
    let line = dev.says("redis-cli");
    let (_, redis_cli) = line.split_once("Redis").unwrap();
    let pinged = Command::new("sh").args(["-c", &format!("{redis_cli} PING")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&pinged.stdout), "PONG\n", "{redis_cli}: {pinged:?}");
    assert_eq!(run(&["push", "demo", "--body", "hello", "--server", &server]).code, Some(0));
    let line = dev.prints("hello");
    assert!(line.contains("demo POST /echo?delay=1s attempt 1 → 200"), "{line}");
    assert_eq!(
        run(&["push", "tigerfeeding", "--body", "x", "--path", "?status=404", "--server", &server]).code,
        Some(0)
    );
    dev.prints("→ 404");
    // Its file of settings says where its Redis is.
    let file = folder.path().join("my data/dev.toml").display().to_string();
    let doctor = run(&[["-c", &file].as_slice(), &PATIENT, &["doctor"]].concat());
    assert_eq!(doctor.code, Some(0), "{}", doctor.err);
    let (code, log) = dev.end_with_log();
    assert_eq!(code, Some(0));
    let first = log.iter().find(|line| !line.is_empty()).unwrap();
    assert!(first.starts_with("  page "), "{log:#?}");
    // Its own Redis ends last, which no part may report as an outage.
    assert!(!log.iter().any(|line| line.contains("connection lost")), "{log:#?}");
}

#[test]
fn a_port_that_is_in_use_is_all_that_is_reported() {
    let folder = TempDir::new().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let data = folder.path().join("my data").display().to_string();
    let ended = run(&["dev", "--port", &port, "--echo-port", "0", "--data", &data]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains(&format!("can't listen on 127.0.0.1:{port} (intake.listen)")), "{}", ended.err);
    // Its own Redis ends with it.
    assert!(!ended.err.contains("connection lost"), "{}", ended.err);
}

#[test]
fn a_killed_processor_is_replaced_and_no_job_is_lost() {
    let folder = TempDir::new().unwrap();
    let dev = dev(&folder, &["--set", "processor.lease=3s"]);
    let server = dev.address();
    let first = process(&dev.says("processor 1 is process"));
    let lines: String = (0..40).map(|n| format!("{{\"body\":\"n{n}.\"}}\n")).collect();
    let file = write(folder.path(), "jobs.ndjson", &lines);
    assert_eq!(run(&["push", "demo", "--ndjson", &file, "--server", &server]).code, Some(0));
    dev.prints("n3.");
    kill(first, Signal::SIGKILL).unwrap();
    assert_ne!(process(&dev.says("processor 1 is process")), first);
    dev.prints("n39.");
    let arrived = run(&["jobs", "demo", "--state", "delivered", "-o", "json", "--server", &server]);
    let arrived: Vec<serde_json::Value> = serde_json::from_str(&arrived.out).unwrap();
    assert!(arrived.len() >= 39, "the last may not be settled yet: {}", arrived.len());
    assert_eq!(dev.end(), Some(0));
}

#[test]
fn a_killed_dev_leaves_no_processor_behind_and_the_next_takes_its_redis_over() {
    let folder = TempDir::new().unwrap();
    let start = || dev(&folder, &[]);
    let dev = start();
    let server = dev.address();
    assert_eq!(run(&["push", "demo", "--body", "x", "--delay", "1h", "--server", &server]).code, Some(0));
    let processor = process(&dev.says("processor 1 is process"));
    dev.says("this replica has joined the bucket");
    let file = folder.path().join("my data/redis.pid");
    let of_redis = || Pid::from_raw(std::fs::read_to_string(&file).unwrap().trim().parse().unwrap());
    let redis = of_redis();
    dev.signal(Signal::SIGKILL);
    // It shares our standard error with its parent: the pipe stays open until it has ended.
    dev.says("the processor has stopped");
    drop(dev);
    assert_ne!(processor, redis);
    // Redis outlives a dev that was killed, with all that was accepted.
    kill(redis, None).unwrap();
    let dev = start();
    let server = dev.address();
    assert_ne!(of_redis(), redis);
    // The first processor may not have parked it yet.
    let is_parked = || run(&["jobs", "demo", "--server", &server]).out.contains("parked");
    assert!((0..100).any(|_| is_parked()), "{}", run(&["jobs", "demo", "--server", &server]).out);
    let (code, log) = dev.end_with_log();
    assert_eq!(code, Some(0));
    assert!(log.iter().any(|line| line.contains("that an earlier process left running")), "{log:#?}");
    // It has ended that Redis itself, which is no outage.
    assert!(!log.iter().any(|line| line.contains("connection lost")), "{log:#?}");
}

#[test]
fn a_second_dev_in_a_folder_keeps_the_settings_file_of_the_first() {
    let folder = TempDir::new().unwrap();
    let first = dev(&folder, &[]);
    first.address();
    let data = folder.path().join("my data");
    let file = data.join("dev.toml");
    let (read, files) = (|| std::fs::read_to_string(&file).unwrap(), || std::fs::read_dir(&data).unwrap().count());
    let (before, files_before) = (read(), files());
    let refused = run(&["dev", "--no-open", "--port", "0", "--echo-port", "0", "--data", &data.display().to_string()]);
    assert!(refused.code == Some(1) && refused.err.contains("already runs"), "{}", refused.err);
    assert_eq!((read(), files()), (before.clone(), files_before));

    // As the error advises.
    let url = format!("unix://{}", data.join("redis.sock").display());
    let second = dev(&folder, &["--redis", &url]);
    second.address();
    assert_eq!(read(), before);
    assert_eq!(second.end(), Some(0));
    assert_eq!((read(), files()), (before, files_before));
    let doctor = run(&[["-c", &file.display().to_string()].as_slice(), &PATIENT, &["doctor"]].concat());
    assert_eq!(doctor.code, Some(0), "{}", doctor.err);
    assert_eq!(first.end(), Some(0));
}

#[test]
fn without_redis_it_says_how_to_get_one() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("my data").display().to_string();
    let mut command = dripfeed(&["dev", "--port", "0", "--echo-port", "0", "--data", &data]);
    let output = command.env("PATH", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(69));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("apt-get install redis-server"), "{told}");
}
