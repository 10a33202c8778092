//! Upstreams that answer as badly as they can, called by a real processor: each call's slot is free at its time limit,
//! the verdict is as in the contract, and the processor's memory stays where it was. 20 calls of each sort;
//! HOSTILE_CALLS=200 for more.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dripfeed_bucket::{Bucket, BucketSettings, TimeWindow};
use dripfeed_job::Ending;
use dripfeed_tests::accept::accept;
use dripfeed_tests::buckets;
use dripfeed_tests::processes::memory_kib;
use dripfeed_tests::service::Service;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// What an attempt may take where it must run out, and elsewhere: there far more than it takes.
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(30);
/// Attempts under way at once.
const CONCURRENCY: usize = 4;
/// What the processor's memory may grow by: 64 MiB.
const GROWTH_KIB: u64 = 64 << 10;

const LATE: &str = "no complete answer within 500ms";

/// A sort of hostility: the path where it is met, how its jobs end, and what is notified of that.
const SORTS: [(&str, Ending, &str); 10] = [
    ("drip", Ending::Dead, LATE),
    ("drip-body", Ending::Dead, LATE),
    ("silent", Ending::Dead, LATE),
    ("endless", Ending::Delivered, ""),
    ("headers", Ending::Dead, "malformed HTTP response"),
    ("redirect", Ending::Dead, "302"),
    ("reset", Ending::Dead, "the answer was cut off"),
    // The bucket holds for as long as it may at the most, and the second call is answered well: no attempt was counted.
    ("later-much", Ending::Delivered, ""),
    ("later-negative", Ending::Delivered, ""),
    ("later-date", Ending::Delivered, ""),
];

/// What was seen of the calls.
#[derive(Default)]
struct Book {
    /// Jobs that were asked to wait, once each.
    told_to_wait: Mutex<HashSet<String>>,
    /// Calls that followed a redirect.
    elsewhere: AtomicUsize,
}

struct Hostile {
    address: SocketAddr,
    book: Arc<Book>,
    _serving: AbortOnDropHandle<()>,
}

impl Hostile {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let book = Arc::new(Book::default());
        let kept = Arc::clone(&book);
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let stream = accept(&listener).await;
                let book = Arc::clone(&kept);
                // Who is called breaks such a connection off.
                connections.spawn(async move { answer_all(stream, address, &book).await.ok() });
            }
        });
        Self { address, book, _serving: AbortOnDropHandle::new(serving) }
    }
}

/// The path, and the job.
async fn read_request(stream: &mut TcpStream) -> io::Result<(String, String)> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n{}") {
        read.push(stream.read_u8().await?);
    }
    let text = String::from_utf8_lossy(&read);
    let path = text.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let job = text.lines().find_map(|line| line.strip_prefix("dripfeed-job-id: ")).unwrap_or_default();
    Ok((path.to_owned(), job.to_owned()))
}

async fn say(stream: &mut TcpStream, status: &str, field: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {status} S\r\n{field}Content-Length: 0\r\n\r\n").as_bytes()).await
}

/// The rest comes a byte at a time, and never ends.
async fn drip(stream: &mut TcpStream, begin: &str) -> io::Result<()> {
    stream.write_all(begin.as_bytes()).await?;
    loop {
        stream.write_u8(b'x').await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn answer_all(mut stream: TcpStream, own: SocketAddr, book: &Book) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let (path, job) = read_request(&mut stream).await?;
        let wait = match path.as_str() {
            "drip" => return drip(&mut stream, "HTTP/1.1 200 OK\r\nX: ").await,
            "drip-body" => return drip(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await,
            "silent" => std::future::pending().await,
            "endless" => return endless(&mut stream).await,
            "headers" => return many_headers(&mut stream).await,
            // Closed with something of it unread, a connection is reset.
            "reset" => return stream.set_zero_linger(),
            "redirect" => {
                say(&mut stream, "302", &format!("Location: http://{own}/elsewhere\r\n")).await?;
                continue;
            }
            "later-much" => "1000000000",
            "later-negative" => "-1",
            "later-date" => "Fri, 31 Dec 9999 23:59:59 GMT",
            _ => {
                book.elsewhere.fetch_add(1, Ordering::SeqCst);
                say(&mut stream, "200", "").await?;
                continue;
            }
        };
        let first = book.told_to_wait.lock().unwrap_or_else(PoisonError::into_inner).insert(job);
        match first {
            true => say(&mut stream, "429", &format!("Retry-After: {wait}\r\n")).await?,
            false => say(&mut stream, "200", "").await?,
        }
    }
}

async fn endless(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    loop {
        stream.write_all(chunk.as_bytes()).await?;
    }
}

async fn many_headers(stream: &mut TcpStream) -> io::Result<()> {
    let fields: String = (0..10_000).map(|number| format!("X-{number}: {}\r\n", "y".repeat(100))).collect();
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n").as_bytes()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_upstream_can_hold_a_slot_or_fill_the_memory() {
    let calls: usize = std::env::var("HOSTILE_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(20);
    let hostile = Hostile::start().await;
    let sections = SORTS.map(|(name, _, reason)| {
        let timeout = if reason == LATE { SHORT } else { LONG };
        format!(
            "[buckets.{name}]\nupstream = \"http://{}/{name}\"\ntimeout = \"{}ms\"\nretry.attempts = 1\n\
             leak = {{ concurrency = {CONCURRENCY}, max_hold = \"50ms\", default_hold = \"50ms\" }}\n",
            hostile.address,
            timeout.as_millis()
        )
    });
    let service = Service::new(&sections.concat()).await;
    let processor = service.processor().await;
    // What a well-behaved life takes is there before it is measured.
    let before = memory_kib(processor.id(), "VmRSS");
    for (name, ending, reason) in SORTS {
        let roomy = BucketSettings { capacity: 100_000, ..buckets::settings(name) };
        let bucket = buckets::open(&service.redis, roomy).await;
        let begun = Instant::now();
        for _ in 0..calls {
            buckets::submit(&bucket, buckets::job("{}")).await;
        }
        service.drained(name).await;
        let rounds = u32::try_from(calls.div_ceil(CONCURRENCY)).expect("a small number");
        // Less than one that had its slot for `LONG` would take.
        let most = SHORT * rounds * 2 + LONG * 4 / 5;
        assert!(begun.elapsed() < most, "{name}: {calls} calls took {:?}", begun.elapsed());
        all_ended_so(&bucket, calls, ending, reason).await;
    }
    let peak = memory_kib(processor.id(), "VmHWM");
    println!("{calls} calls of each of {} sorts: memory {before} KiB before, at most {peak} KiB", SORTS.len());
    assert!(peak < before + GROWTH_KIB, "the memory grew from {before} KiB to {peak} KiB");
    assert_eq!(hostile.book.elsewhere.load(Ordering::SeqCst), 0, "a redirect was followed");
    assert!(!processor.log().contains("panicked"), "{}", processor.log());
}

async fn all_ended_so(bucket: &Bucket, calls: usize, ending: Ending, reason: &str) {
    let (mut ended, mut after) = (Vec::new(), None);
    loop {
        let page =
            bucket.outcomes(TimeWindow::default(), None, after.as_ref(), calls + 1).await.expect("Redis answers");
        ended.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(ended.len(), calls, "{}", bucket.name());
    for job in ended {
        let outcome = job.outcome;
        let told = outcome.reason.clone().unwrap_or_default();
        assert!(outcome.result == ending && told.contains(reason), "{}: {outcome:?}", bucket.name());
        assert_eq!(outcome.attempts, 1, "{}: {outcome:?}", bucket.name());
    }
}
