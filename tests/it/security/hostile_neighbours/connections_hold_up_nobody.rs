//! 1,000 silent connections and 64 slow ones, 10,000 in the long run: others are answered as ever, and memory is
//! bounded.

use std::time::{Duration, Instant};

use dripfeed_tests::processes::{Process, memory_kib};
use dripfeed_tests::service::Service;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::attacks::{NOISE, is_long, p99};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 100000\n";
/// Those that begin a request and go on with it a byte at a time.
const SLOW: usize = 64;
const ASKED: usize = 500;
/// What an idle connection may cost, and what of it all else may take: in KiB.
const PER_CONNECTION: u64 = 24;
const ALL_ELSE: u64 = 32 << 10;
/// Every connection is an open file of this process.
fn allow_open_files() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("a limit may be raised to its most");
}

async fn connect(intake: &Process) -> TcpStream {
    let address = intake.url().trim_start_matches("http://").to_owned();
    TcpStream::connect(address).await.expect("the intake listens")
}

async fn crowd(intake: &Process, many: usize) -> Vec<TcpStream> {
    let mut crowd = Vec::with_capacity(many);
    for _ in 0..many {
        crowd.push(connect(intake).await);
    }
    crowd
}

/// Half of them stop within the head and half within the body; from then on a byte a second each.
async fn slow_ones(intake: &Process) -> tokio::task::JoinHandle<()> {
    let mut slow = crowd(intake, SLOW).await;
    let head = "POST /v1/buckets/b/jobs HTTP/1.1\r\nHost: localhost\r\n";
    for (number, connection) in slow.iter_mut().enumerate() {
        let begun = match number % 2 {
            0 => format!("{head}X: "),
            _ => format!("{head}Content-Length: 1000\r\n\r\n"),
        };
        connection.write_all(begun.as_bytes()).await.expect("the intake reads");
    }
    tokio::spawn(async move {
        loop {
            for connection in &mut slow {
                // Those whose time is over have been closed.
                connection.write_u8(b'x').await.ok();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
}

/// How long a submission takes.
async fn submit(connection: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    let request = "POST /v1/buckets/b/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx";
    connection.write_all(request.as_bytes()).await.expect("the intake reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        answer.push(connection.read_u8().await.expect("the intake answers"));
    }
    assert!(answer.starts_with(b"HTTP/1.1 202 "), "{}", answer.escape_ascii());
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_hold_up_nobody_and_take_bounded_memory() {
    let many = if is_long() { 10_000 } else { 1000 };
    allow_open_files();
    let service = Service::new(BUCKET).await;
    let room = format!("intake.max_connections={}", many + 2 * SLOW);
    let (crowded, alone) = (service.role("intake", &[&room]).await, service.role("intake", &[&room]).await);
    let (mut in_crowd, mut by_itself) = (connect(&crowded).await, connect(&alone).await);
    let before = memory_kib(crowded.id(), "VmRSS");
    let begun = Instant::now();
    let mut silent = crowd(&crowded, many).await;
    let slow = slow_ones(&crowded).await;

    // In turns, so that whatever else the machine does happens to both.
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ASKED {
        with.push(submit(&mut in_crowd).await);
        without.push(submit(&mut by_itself).await);
    }
    let (with, without) = (p99(with), p99(without));
    let peak = memory_kib(crowded.id(), "VmHWM");
    // The last of the silent ones is let go at its time.
    let mut last = silent.pop().expect("a crowd");
    let ended = tokio::time::timeout(Duration::from_secs(30), last.read_to_end(&mut Vec::new())).await;
    println!(
        "{many} silent and {SLOW} slow connections: p99 {with:?}, without them {without:?}; \
         memory {before} KiB before, at most {peak} KiB; the last silent one closed after {:?}",
        begun.elapsed()
    );
    assert!(ended.is_ok(), "a silent connection stays open");
    assert!(!is_long() || with < without * 2 + NOISE, "p99 {with:?}, without the crowd {without:?}");
    let bound = before + ALL_ELSE + PER_CONNECTION * u64::try_from(many + SLOW).expect("a small number");
    assert!(peak < bound, "{peak} KiB, at most {bound} KiB");
    slow.abort();
}
