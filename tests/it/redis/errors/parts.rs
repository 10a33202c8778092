//! What is done to many in several calls, and breaks off between two of them: its caller learns what was done.

use dripfeed_bucket::{Bucket, BucketSettings};
use dripfeed_tests::buckets::{self, buried, join, settle, take};
use dripfeed_tests::client::ClientResponse;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::Service;
use futures::future::join_all;
use http::Method;

const BUCKETS: &str = "[buckets]\nb = { upstream = \"http://127.0.0.1:1/\", capacity = 10000 }\n";
/// More than one call does.
const MANY: usize = 250;
/// What does something to all of them, and the script that it calls.
const OPERATIONS: [(&str, &str, &str); 4] = [
    ("replay", "POST /v1/buckets/b/dead/replay", "replay"),
    ("purge", "POST /v1/buckets/b/purge", "purge"),
    ("cancel_many", "POST /v1/buckets/b/jobs/cancel {\"state\": \"waiting\"}", "cancel"),
    ("forget", "DELETE /v1/buckets/b/dead?reason=luck", "delete"),
];

async fn ask(intake: &Process, call: &str) -> ClientResponse {
    let mut words = call.splitn(3, ' ');
    let method: Method = words.next().expect("a method").parse().expect("a method");
    let request = intake.client().request(method, words.next().expect("a path"));
    intake.client().call(request, words.next().unwrap_or_default().to_owned()).await.expect("an answer")
}

async fn flood(bucket: &Bucket) {
    for answer in bucket.admit_many((0..MANY).map(|n| buckets::job(n.to_string())).collect()).await {
        answer.expect("Redis answers");
    }
}

/// Jobs that wait, and dead letters.
async fn fill(service: &Service) {
    let mut settings = BucketSettings { capacity: 10_000, ..buckets::settings("b") };
    settings.keep.most_dead = 10_000;
    let bucket = buckets::open(&service.redis, settings).await;
    let replica = join(&bucket, "r").await;
    bucket.purge().await.expect("Redis answers");
    flood(&bucket).await;
    let mut dead = 0;
    while dead < MANY {
        let taken = take(&replica, 500).await;
        dead += taken.len();
        join_all(taken.into_iter().map(|taken| settle(&replica, taken, buried("no luck")))).await;
    }
    flood(&bucket).await;
    replica.leave().await.expect("Redis answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_bulk_operation_reports_how_many_were_done() {
    let service = Service::new(BUCKETS).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    for (script, call, action) in OPERATIONS {
        // The proxy knows a script once it was called.
        assert_eq!(ask(&intake, call).await.status, 200, "{call}");
        fill(&service).await;
        proxy.plan(script, ProxyFault::Hold, 1);
        let (answer, ()) = tokio::join!(ask(&intake, call), async {
            proxy.done(script).await;
            proxy.plan(script, ProxyFault::Error("OOM command not allowed when used memory > 'maxmemory'."), 1);
            proxy.release();
        });
        assert!(proxy.has_done(script), "{call}");
        let problem = answer.json();
        assert_eq!((answer.status, answer.text("code").as_str()), (507, "store_full"), "{call}: {problem}");
        assert_eq!(problem["outcome"], "unknown", "{call}: {problem}");
        let detail = answer.text("detail");
        let done: usize = detail.split(' ').find_map(|word| word.parse().ok()).expect("a number");
        assert!((1..MANY).contains(&done) && !detail.contains("nothing"), "{call}: {detail}");
        let left = if call.contains("/dead") { "dead" } else { "jobs" };
        assert_eq!(
            service.redis::<usize>(&format!("XLEN dripfeed:{{b}}:{left}")).await,
            MANY - done,
            "{call}: {detail}"
        );
        let trail = intake.client().get("/v1/buckets/b/audit").await.expect("an answer").json();
        let entry = &trail["items"][0];
        assert_eq!(entry["action"], action, "{trail}");
        assert!(entry["detail"].as_str().is_some_and(|text| text.starts_with(&done.to_string())), "{entry}");
    }
}
