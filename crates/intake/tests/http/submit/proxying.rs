use dripfeed_bucket::BucketSettings;
use dripfeed_job::forward::ClientAddress;
use http::Method;

use crate::harness::{Harness, delivered, settings};

#[tokio::test]
async fn a_proxied_request_is_forwarded_unchanged() {
    let harness = Harness::start().await;
    let headers = [
        ("content-type", "application/x-thing"),
        ("authorization", "Bearer for-the-upstream"),
        ("x-custom", "1"),
        ("accept", "text/plain"),
        ("connection", "keep-alive, x-hop"),
        ("x-hop", "1"),
        ("host", "intake"),
        ("dripfeed-delay", "0s"),
        ("te", "trailers"),
    ];
    let answer = harness.ask("PATCH /v1/buckets/b/proxy/a%2Fb/%20c?x=%41&y", &headers, "payload").await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let job = harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!(job.method, Some(Method::PATCH));
    assert_eq!(job.path.unwrap().as_str(), "/a%2Fb/%20c?x=%41&y");
    assert_eq!(job.body, "payload");
    assert_eq!(job.content_type.as_deref(), Some("application/x-thing"));
    let mut forwarded: Vec<&str> = job.headers.iter().map(|(name, _)| name.as_str()).collect();
    forwarded.sort_unstable();
    assert_eq!(forwarded, ["accept", "authorization", "x-custom"]);
}

#[tokio::test]
async fn the_client_address_is_forwarded_only_if_configured() {
    let believed = BucketSettings { client_address: ClientAddress::Forwarded, ..settings("b") };
    let headers = [("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=192.0.2.1"), ("x-real-ip", "192.0.2.1")];
    for (bucket, kept) in [(settings("b"), 0), (believed, 3)] {
        let harness = Harness::with(vec![bucket], Vec::new(), &[]).await;
        assert_eq!(harness.ask("POST /v1/buckets/b/proxy/x", &headers, "").await.status, 202);
        let job = harness.settle(delivered(200, "text/plain", b"")).await;
        assert_eq!(job.headers.iter().count(), kept, "{:?}", job.headers);
    }
}

#[tokio::test]
async fn any_method_and_an_empty_path_are_accepted() {
    let harness = Harness::start().await;
    for (line, path) in [
        ("GET /v1/buckets/b/proxy", ""),
        ("DELETE /v1/buckets/b/proxy/", "/"),
        ("OPTIONS /v1/buckets/b/proxy?q=1", "?q=1"),
        ("PROPFIND /v1/buckets/b/proxy/dav", "/dav"),
    ] {
        let answer = harness.ask(line, &[], "").await;
        assert_eq!(answer.status, 202, "{line}: {answer:?}");
        let job = harness.settle(delivered(200, "text/plain", b"")).await;
        assert!(line.starts_with(job.method.unwrap().as_str()));
        assert_eq!(job.path.as_ref().map_or("", |path| path.as_str()), path);
    }
    harness.ask("TRACE /v1/buckets/b/proxy/x", &[], "").await.refuses(405, "method_not_allowed");
}

#[tokio::test]
async fn a_request_that_cant_be_forwarded_is_refused() {
    let harness = Harness::start().await;
    let own = [("dripfeed-method", "PUT"), ("dripfeed-path", "/x")];
    harness.ask("POST /v1/buckets/b/proxy/x", &own, "").await.refuses(422, "bad_option");
    let many: Vec<(String, String)> = (0..65).map(|n| (format!("x-{n}"), "v".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    harness.ask("POST /v1/buckets/b/proxy/x", &many, "").await.refuses(422, "bad_option");
    assert_eq!(harness.length("b").await, 0);
}
