use crate::harness::Harness;

/// Every operation that changes something.
const CHANGES: [&str; 20] = [
    "POST /v1/buckets/b/jobs",
    "POST /v1/buckets/b/jobs/batch",
    "POST /v1/buckets/b/proxy/x",
    "GET /v1/buckets/b/proxy/x",
    "DELETE /v1/buckets/b/jobs/1-1",
    "POST /v1/buckets/b/jobs/cancel",
    "PATCH /v1/buckets/b",
    "POST /v1/buckets/b/pause",
    "POST /v1/buckets/b/resume",
    "POST /v1/buckets/b/purge",
    "POST /v1/buckets/b/dead/1-1/replay",
    "POST /v1/buckets/b/dead/replay",
    "POST /v1/buckets/b/dead/replays",
    "DELETE /v1/buckets/b/dead?status=404",
    "DELETE /v1/buckets/b/dead/replays/0000000000000abc",
    "DELETE /v1/buckets/b/dead/1-1",
    "HEAD /v1/buckets/b/proxy/x",
    "PUT /v1/services/s/rules",
    "DELETE /v1/services/s/rules",
    "POST /v1/services/s/check",
];

#[tokio::test]
async fn pages_of_another_origin_change_nothing() {
    let harness = Harness::start().await;
    for origin in ["http://evil.example", "http://intake", "https://intake:71800", "null", "file://", "intake:7180"] {
        for line in CHANGES {
            let answer = harness.ask(line, &[("host", "intake:7180"), ("origin", origin)], "{}").await;
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
        for line in CHANGES.iter().chain(&READS) {
            let answer = harness.ask(line, &[("host", host), ("origin", &origin)], "{}").await;
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
