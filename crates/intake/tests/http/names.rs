use crate::harness::{Harness, intake_settings};
use crate::server::{Server, last, refused};

#[tokio::test]
async fn an_invalid_bucket_name_is_not_found_without_querying_redis() {
    let mut harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    // Asked, it would be a 503.
    harness.redis.kill().await.unwrap();
    let long = "x".repeat(10_000);
    for name in [
        "nope",
        "B",
        "b.",
        "b%20",
        "%20b",
        "b%00",
        "%2e%2e",
        "..%2fb",
        "b%2Fb",
        "{b}",
        "%7Bb%7D",
        "b:jobs",
        "*",
        "b*",
        "[b]",
        "b;x",
        "b\\",
        "\u{432}",
        "%D0%B2",
        "b%CC%81",
        "\u{ff42}",
        "%EF%BD%82",
        "%FF",
        "%E2%80%8Bb",
        "-b",
        ".",
        "..",
        long.as_str(),
    ] {
        for call in ["POST /v1/buckets/NAME/jobs", "GET /v1/buckets/NAME", "DELETE /v1/buckets/NAME/jobs/1-1"] {
            let answer = server.ask(last(&call.replace("NAME", name), "", "")).await;
            refused(&answer, 404, "unknown_bucket");
        }
    }
    for path in ["/v1/buckets//jobs", "/v1/buckets/b/../b/jobs", "/v1/buckets/b//jobs", "/v1/buckets/a/b/jobs"] {
        let answer = server.ask(last(&format!("POST {path}"), "", "")).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
    }
    // A space ends the path: this is no request line.
    let answer = server.ask(last("GET /v1/buckets/b b", "", "")).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}
