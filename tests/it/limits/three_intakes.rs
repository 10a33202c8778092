//! Three intakes that many callers flood at once: in no true window is more admitted than the limit says.
//!
//! A job's id is the time of Redis at its append, which follows the decision within the same script. So ids are later
//! than decisions by at most as long as the slowest script took, which Redis reports.

use dripfeed_store::Durability;
use dripfeed_tests::client::Client;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::Service;
use futures::future::join_all;

const CONNECTIONS: usize = 3;
const BATCHES: usize = 40;
const ITEMS: usize = 100;

/// What came of a flood.
struct Flood {
    /// Ms of the ids, in order.
    admitted: Vec<i64>,
    /// Ms that an id may be later than its decision, its rounding included.
    late: i64,
}

/// Submits as much as it can to a bucket with this one limit, by three intakes.
async fn flood(tier: &str) -> Flood {
    let buckets = format!(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\ncapacity = 1000000\n\
         [[buckets.b.limits]]\nid = \"all\"\ntiers = [{{ {tier} }}]\n"
    );
    let service = Service::alone(TestRedis::start().await, Durability::Everysec, &buckets).await;
    service.redis::<()>("CONFIG SET slowlog-max-len 100000").await;
    service.redis::<()>("CONFIG SET slowlog-log-slower-than 0").await;
    let intakes = [service.intake().await, service.intake().await, service.intake().await];
    let clients = intakes.iter().map(Process::client).flat_map(|client| vec![client; CONNECTIONS]);
    let refused = join_all(clients.map(|client| tokio::spawn(hand_in(client)))).await;
    let refused: usize = refused.into_iter().map(|refused| refused.expect("no panic")).sum();
    let jobs: Vec<(String, redis::Value)> = service.redis("XRANGE dripfeed:{b}:jobs - +").await;
    let admitted: Vec<i64> = jobs.iter().map(|(id, _)| ms_of(id)).collect();
    assert!(!admitted.is_empty() && refused > 0, "{} admitted, {refused} refused", admitted.len());
    Flood { admitted, late: slowest_us(&service).await / 1000 + 2 }
}

/// Reports how many were refused by the limit. On a busy machine an intake may not know of some what became of them.
async fn hand_in(client: Client) -> usize {
    let batch = "{\"body\":1}\n".repeat(ITEMS);
    let mut refused = 0;
    for _ in 0..BATCHES {
        let answer = client.post("/v1/buckets/b/jobs/batch", batch.clone()).await.expect("an answer").json();
        let items = answer["items"].as_array().expect("a result for each");
        refused += items.iter().filter(|item| item["problem"]["code"] == "caller_limit").count();
    }
    refused
}

fn ms_of(id: &str) -> i64 {
    id.split_once('-').and_then(|(ms, _)| ms.parse().ok()).expect("a job's id")
}

/// Of all scripts and commands.
async fn slowest_us(service: &Service) -> i64 {
    let entries: Vec<Vec<redis::Value>> = service.redis("SLOWLOG GET -1").await;
    let took = entries.iter().map(|entry| match entry[2] {
        redis::Value::Int(took) => took,
        ref other => panic!("{other:?} is no time"),
    });
    took.max().expect("many calls")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_admits_its_burst_and_its_rate_in_any_window() {
    let Flood { admitted, late } = flood("kind = \"bucket\", rate = \"400/s\", burst = 50").await;
    // n calls within w ms: n <= 50 + 0.4 w. In whole numbers: from any one to any later one, 5 n - 2 w grows by 5 * 50
    // at most.
    let mut least = i64::MAX;
    for (number, ms) in (0_i64..).zip(&admitted) {
        let height = 5 * number - 2 * ms;
        least = least.min(height);
        assert!(height - least + 5 <= 5 * 50 + 2 * late, "call {number} came too early; ids are {late} ms late");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_keeps_its_period_between_any_two() {
    let Flood { admitted, late } = flood("kind = \"gate\", period = \"100ms\"").await;
    for pair in admitted.windows(2) {
        assert!(pair[1] - pair[0] >= 100 - late, "{pair:?}; ids are {late} ms late");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fixed_window_never_admits_more_than_its_limit() {
    let Flood { admitted, late } = flood("kind = \"fixed\", limit = 60, period = \"200ms\"").await;
    // In the part of a window where no id can belong to the one before.
    let windows = admitted.chunk_by(|a, b| a / 200 == b / 200);
    for window in windows.clone() {
        let certain = window.iter().filter(|ms| **ms % 200 >= late).count();
        assert!(certain <= 60, "{certain} in one window; ids are {late} ms late");
    }
    assert!(admitted.len() <= 60 * (windows.count() + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_admits_its_limit_in_any_window() {
    let Flood { admitted, late } = flood("kind = \"log\", limit = 60, period = \"200ms\"").await;
    for pair in admitted.windows(61) {
        assert!(pair[60] - pair[0] >= 200 - late, "{} ms for 61; ids are {late} ms late", pair[60] - pair[0]);
    }
}
