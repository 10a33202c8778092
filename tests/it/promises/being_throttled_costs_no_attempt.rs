//! Promise 8: Pacing, an upstream's 429 or 503 with Retry-After, our own shutdown, a lack of local resources: the
//! attempt number stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Call, Upstream};
use tokio::process::Command;
use tokio::sync::watch;

/// Throttles the first three calls with this status, and accepts the later ones.
async fn busy(status: u16) -> Upstream {
    let calls = Arc::new(AtomicU32::new(0));
    Upstream::start(move |_: Call| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move { if call < 3 { Answer::Throttle(status, 1) } else { Answer::Status(200) } }
    })
    .await
}

async fn throttled(status: u16) {
    let upstream = busy(status).await;
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\n[buckets.b.leak]\nconcurrency = 1\n[buckets.b.retry]\nattempts = 1",
        upstream.url()
    );
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let _processor = service.processor().await;
    let job = intake.client().submit("b", "x").await.expect("an answer").text("id");
    service.drained("b").await;

    let calls = upstream.calls();
    assert_eq!(calls.iter().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1, 1, 1]);
    for pair in calls.windows(2) {
        let waited = pair[1].arrived.duration_since(pair[0].arrived);
        assert!(waited >= Duration::from_millis(999), "asked for 1 s, called again after {waited:?}");
    }
    let ended = intake.client().get(&format!("/v1/buckets/b/jobs/{job}")).await.expect("an answer").json();
    assert_eq!((ended["state"].as_str(), ended["attempts"].as_u64()), (Some("delivered"), Some(1)), "{ended}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstreams_429() {
    throttled(429).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstreams_503_with_retry_after() {
    throttled(503).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_own_shutdown() {
    // The upstream never answers the replica that is shut down.
    let upstream = Upstream::start(|call| async move {
        if call.headers.get("user-agent").is_some_and(|agent| agent == "leaver") {
            std::future::pending::<()>().await;
        }
        Answer::Status(200)
    })
    .await;
    let settings = format!("[buckets.b]\nupstream = \"{}\"\n[buckets.b.retry]\nattempts = 1", upstream.url());
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let leaver = ["buckets.b.headers={ User-Agent = \"leaver\" }", "processor.drain=500ms"];
    let mut leaver = service.role("processor", &leaver).await;
    let job = intake.client().submit("b", "x").await.expect("an answer").text("id");
    upstream.has_got(1).await;
    leaver.terminate();
    assert!(leaver.ended().await.success());
    let parked = intake.client().get(&format!("/v1/buckets/b/jobs/{job}")).await.expect("an answer").json();
    assert_eq!((parked["state"].as_str(), parked["attempts"].as_u64()), (Some("parked"), Some(0)), "{parked}");

    let _next = service.processor().await;
    service.drained("b").await;
    assert_eq!(upstream.calls().iter().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pace() {
    let upstream = Upstream::willing().await;
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\n[buckets.b.leak]\nrate = \"20/s\"\n[buckets.b.retry]\nattempts = 1",
        upstream.url()
    );
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let _processor = service.processor().await;
    for n in 0..20 {
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    service.drained("b").await;
    let calls = upstream.calls();
    assert!(calls.len() == 20 && calls.iter().all(|call| call.attempt == 1));
}

/// A processor with limits of open files, set by these `ulimit` commands.
async fn limited_processor(service: &Service, ulimits: &str) -> Process {
    let processor = service.command(&[]);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{ulimits}; exec \"$0\" \"$@\""));
    command.arg(processor.as_std().get_program()).args(processor.as_std().get_args()).arg("processor");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).kill_on_drop(true);
    Process::start("processor with few files", command).await
}

async fn more_calls_than_files(host: &str) {
    const JOBS: usize = 60;
    // A quota of calls, not of calls that couldn't be made.
    const QUOTA: usize = JOBS + 5;
    let (held, open) = watch::channel(false);
    let upstream = Upstream::start(move |_| {
        let mut open = open.clone();
        async move {
            open.wait_for(|open| *open).await.ok();
            Answer::Status(200)
        }
    })
    .await;
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\nleak = {{ concurrency = {JOBS}, tiers = \
         [{{ kind = \"fixed\", limit = {QUOTA}, period = \"366d\" }}] }}\nretry = {{ attempts = 1 }}",
        upstream.url().replace("127.0.0.1", host)
    );
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let processor = limited_processor(&service, "ulimit -Sn 48; ulimit -Hn 48").await;
    for n in 0..JOBS {
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    let begins = "can't open connections to the upstream";
    until("files are wanting", async || processor.log().contains(begins)).await;
    held.send_replace(true);
    service.drained("b").await;

    let counts = service.counts("b").await;
    assert_eq!((counts.delivered, counts.dead), (JOBS as u64, 0));
    assert!(upstream.calls().iter().all(|call| call.attempt == 1));
    let lines = processor.whole_log().times_of(begins).len();
    assert_eq!(lines, 1, "one line for all of them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lack_of_open_files() {
    more_calls_than_files("127.0.0.1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lack_of_open_files_for_looking_names_up() {
    more_calls_than_files("localhost").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_processor_raises_its_limit_of_open_files() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
    let processor = limited_processor(&service, "ulimit -Sn 64; ulimit -Hn 600").await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", processor.id())).expect("a running process");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("its limit of open files");
    let numbers: Vec<&str> = files.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).collect();
    assert_eq!(numbers, ["600", "600"], "{files}");
}
