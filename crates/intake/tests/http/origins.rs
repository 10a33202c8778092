use crate::harness::Harness;

/// Every operation that the API's description lists, such as `POST /v1/buckets/b/pause`, with the scopes that it says
/// are needed: of the bucket `b`, the service `s`, and of the job, replay, schedule or key `id`.
pub fn described(id: &str) -> Vec<(String, Vec<String>)> {
    let api = serde_json::to_value(dripfeed_intake::openapi()).unwrap();
    let mut operations = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let path = path.replace("{bucket}", "b").replace("{service}", "s").replace("{id}", id).replace("{path}", "x");
        for (method, operation) in item.as_object().unwrap() {
            let text = operation["description"].as_str().unwrap_or_default();
            let sentence = text.split_once("Needs the scope").map_or("", |(_, sentence)| sentence);
            let scopes = sentence.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            operations.push((format!("{} {path}", method.to_uppercase()), scopes));
        }
    }
    assert!(operations.len() > 50, "{operations:?}");
    operations
}

pub fn operations(id: &str) -> Vec<String> {
    described(id).into_iter().map(|(line, _)| line).collect()
}

/// Every operation that changes something.
fn changes() -> Vec<String> {
    let changes = |line: &String| !line.starts_with("GET ") || line.contains("/proxy");
    operations("1-1").into_iter().filter(changes).collect()
}

#[tokio::test]
async fn pages_of_another_origin_change_nothing() {
    let harness = Harness::start().await;
    for origin in ["http://evil.example", "http://intake", "https://intake:71800", "null", "file://", "intake:7180"] {
        for line in changes() {
            let answer = harness.ask(&line, &[("host", "intake:7180"), ("origin", origin)], "{}").await;
            assert_eq!(answer.status, 403, "{origin} {line}: {answer:?}");
        }
    }
    let bucket = harness.get("/v1/buckets/b").await.json();
    assert_eq!((&bucket["level"], &bucket["paused"]), (&0.into(), &false.into()));
    let here = [("host", "intake:7180"), ("origin", "http://intake:7180")];
    assert_eq!(harness.ask("POST /v1/buckets/b/jobs", &here, "x").await.status, 202);
    // Neither may they read: no answer allows it.
    let read =
        harness.ask("GET /v1/buckets/b", &[("host", "intake:7180"), ("origin", "http://evil.example")], "").await;
    assert_eq!((read.status.as_u16(), read.header("access-control-allow-origin")), (200, None));
    let asked = [("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    let preflight = harness.ask("OPTIONS /v1/buckets/b/pause", &asked, "").await;
    assert_eq!((preflight.status.as_u16(), preflight.header("access-control-allow-origin")), (405, None));
}

/// Browsers send no `Origin` with it.
#[tokio::test]
async fn an_image_on_another_site_submits_nothing() {
    let harness = Harness::start().await;
    for method in ["GET", "HEAD"] {
        let line = format!("{method} /v1/buckets/b/proxy/x");
        for site in ["cross-site", "same-site"] {
            assert_eq!(harness.ask(&line, &[("sec-fetch-site", site)], "").await.status, 403, "{line} {site}");
        }
        // An address typed in, and a page of ours.
        for site in ["none", "same-origin"] {
            assert_eq!(harness.ask(&line, &[("sec-fetch-site", site)], "").await.status, 202, "{line} {site}");
        }
    }
    assert_eq!(harness.length("b").await, 4);
}

/// Every route except the liveness and readiness probes.
const READS: [&str; 8] = [
    "GET /v1/events",
    "GET /v1/redis",
    "GET /v1/buckets",
    "GET /v1/buckets/b",
    "GET /metrics",
    "GET /docs/",
    "GET /openapi.json",
    "GET /",
];

#[tokio::test]
async fn without_keys_an_unknown_host_name_is_refused() {
    let harness = Harness::start().await;
    for host in ["evil.example", "evil.example:7180", "127.0.0.1.evil.example", ""] {
        let origin = format!("http://{host}");
        for line in changes().into_iter().chain(READS.map(str::to_owned)) {
            let answer = harness.ask(&line, &[("host", host), ("origin", &origin)], "{}").await;
            assert_eq!(answer.status, 421, "{host} {line}: {answer:?}");
        }
    }
    let refused = harness.ask("GET /v1/buckets", &[("host", "evil.example")], "").await.refuses(421, "unknown_host");
    assert!(refused["detail"].as_str().unwrap().contains("intake.hosts"), "{refused}");
    let bucket = harness.get("/v1/buckets/b").await.json();
    assert_eq!((&bucket["level"], &bucket["paused"]), (&0.into(), &false.into()));
    for host in ["127.0.0.1:7180", "[::1]:7180", "localhost", "intake:7180"] {
        assert_eq!(harness.ask("GET /v1/buckets", &[("host", host)], "").await.status, 200, "{host}");
    }
    for open in ["/livez", "/readyz"] {
        assert_eq!(harness.ask(&format!("GET {open}"), &[("host", "pod.example")], "").await.status, 200, "{open}");
    }
}

#[tokio::test]
async fn safe_methods_change_nothing() {
    let harness = Harness::start().await;
    let id = harness.submit("x").await;
    for path in ["jobs/batch", "jobs/cancel", "pause", "resume", "purge", "dead/1-1/replay"] {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT"] {
            let answer = harness.ask(&format!("{method} /v1/buckets/b/{path}"), &[], "").await;
            assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
            assert!(answer.header("allow").is_some(), "{method} {path}: {answer:?}");
        }
    }
    harness.get(&format!("/v1/buckets/b/jobs/{id}/cancel")).await.refuses(404, "not_found");
    let bucket = harness.get("/v1/buckets/b").await.json();
    assert_eq!((&bucket["level"], &bucket["paused"]), (&1.into(), &false.into()));
}
