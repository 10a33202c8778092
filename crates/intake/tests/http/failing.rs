use std::time::Duration;

use tokio::time::timeout;

use crate::harness::{Harness, PATIENCE, settings};

const JOBS: &str = "POST /v1/buckets/b/jobs";
const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

#[tokio::test]
async fn while_redis_is_unavailable_callers_get_a_response_in_time() {
    let mut harness = Harness::start().await;
    harness.submit("x").await;
    harness.redis.kill().await.unwrap();
    let answer = timeout(PATIENCE, harness.ask(JOBS, &[], "y")).await.expect("a response comes");
    let problem = answer.refuses(503, "store_unavailable");
    assert!(["not_stored", "unknown"].contains(&problem["outcome"].as_str().unwrap()), "{problem}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let batch = harness.ask(BATCH, &[], "[{\"body\": 1}]").await;
    assert_eq!(batch.status, 503, "{batch:?}");
    assert_eq!(batch.json()["items"][0]["problem"]["code"], "store_unavailable");
    for path in ["/v1/buckets", "/v1/buckets/b", "/v1/buckets/b/jobs", "/v1/buckets/b/jobs/1-1", "/v1/buckets/b/report"]
    {
        let problem = harness.get(path).await.refuses(503, "store_unavailable");
        assert_eq!(problem.get("outcome"), None, "a read stores nothing: {problem}");
    }
    harness.get("/readyz").await.refuses(503, "store_unavailable");
    assert_eq!(harness.get("/livez").await.status, 200);
    let metrics = String::from_utf8(harness.get("/metrics").await.body.to_vec()).unwrap();
    assert!(metrics.contains("dripfeed_redis_up 0"), "{metrics}");
    assert!(!metrics.contains("dripfeed_bucket_level{"), "a stale figure: {metrics}");
    // What Redis isn't needed for is answered as ever.
    harness.get("/v1/buckets/nope").await.refuses(404, "unknown_bucket");
    harness.ask("POST /v1/buckets/nope/jobs", &[], "x").await.refuses(404, "unknown_bucket");
    harness.get("/v1/buckets/b/jobs/x").await.refuses(404, "unknown_job");
    harness.ask(JOBS, &[("dripfeed-nope", "1")], "x").await.refuses(422, "bad_option");

    harness.redis.start_again().await.unwrap();
    let back = async {
        while harness.get("/readyz").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, back).await.expect("ready again without help");
    harness.submit("z").await;
}

/// As after a failover that the intake doesn't know of: a replica answers, but refuses what it is asked to write.
#[tokio::test]
async fn while_redis_refuses_writes_no_process_is_ready() {
    let harness = Harness::start().await;
    harness.submit("x").await;
    let follow = async |host: &str, port: &str| {
        let mut replicaof = redis::cmd("REPLICAOF");
        harness.store.command::<()>(replicaof.arg(host).arg(port)).await.unwrap();
    };
    follow("127.0.0.1", "1").await;
    let refused = async {
        loop {
            let answer = harness.get("/readyz").await;
            if answer.status != 200 {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    let answer = timeout(PATIENCE, refused).await.expect("not ready any more");
    let problem = answer.refuses(503, "store_unavailable");
    assert!(problem["detail"].as_str().unwrap().contains("refuses writes"), "{problem}");
    let metrics = String::from_utf8(harness.get("/metrics").await.body.to_vec()).unwrap();
    assert!(metrics.contains("dripfeed_redis_up 1"), "it answers: {metrics}");
    assert!(metrics.contains("dripfeed_redis_takes_writes 0"), "{metrics}");

    follow("NO", "ONE").await;
    let back = async {
        while harness.get("/readyz").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, back).await.expect("ready again without help");
    harness.submit("y").await;
}

#[tokio::test]
async fn a_redis_out_of_memory_is_reported_and_stores_nothing() {
    let harness = Harness::with(vec![settings("b")], Vec::new(), &[]).await;
    let mut limit = redis::cmd("CONFIG");
    limit.arg("SET").arg("maxmemory").arg("1");
    harness.store.command::<()>(&limit).await.unwrap();
    let problem = harness.ask(JOBS, &[], "x".repeat(1000)).await.refuses(507, "store_full");
    assert_eq!(problem["outcome"], "not_stored");
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn a_hanging_redis_blocks_nobody() {
    let harness = Harness::waiting(Duration::from_secs(1), vec![settings("b")], Vec::new(), &[]).await;
    harness.submit("x").await;
    harness.redis.pause().unwrap();
    let answer = timeout(PATIENCE, harness.ask(JOBS, &[], "y")).await.expect("a response comes");
    assert_eq!(answer.refuses(503, "store_unavailable")["outcome"], "unknown");
    let problem = harness.get("/v1/buckets/b").await.refuses(503, "store_unavailable");
    assert_eq!((problem.get("outcome"), &problem["detail"]), (None, &"Redis can't be queried; retry later".into()));
    let proxied = harness.get("/v1/buckets/b/proxy/x").await.refuses(503, "store_unavailable");
    assert!(proxied["outcome"].is_string(), "a proxied GET is a submission: {proxied}");
    harness.get("/readyz").await.refuses(503, "store_unavailable");
    harness.redis.resume().unwrap();
}
