//! What an upstream asks for with its answer.

use super::*;

#[tokio::test]
async fn a_quota_that_is_used_up_is_read_from_any_answer_and_all_its_lines() {
    for (headers, wait) in [
        ("RateLimit: \"a\";r=0;t=10\r\n", Some(10)),
        ("RateLimit: \"a\";r=3;t=10\r\nRateLimit: \"b\";r=0;t=20\r\n", Some(20)),
        ("RateLimit: limit=10, remaining=0, reset=7\r\n", None),
        ("RateLimit: \"a\";r=0;t=10\r\nRateLimit: \u{e9}\r\n", Some(10)),
        ("", None),
    ] {
        for status in ["200 OK", "429 Too Many Requests"] {
            let answer = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
            let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
            assert_eq!(called.answer.exhausted_for(), wait.map(Duration::from_secs), "{headers}");
        }
    }
}

#[tokio::test]
async fn a_wish_to_wait_is_read_by_the_upstreams_own_clock() {
    for (headers, wait) in [
        ("Retry-After: 7\r\n", Some(7)),
        ("Date: Sun, 06 Nov 1994 08:49:27 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(10)),
        ("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(0)),
        ("Retry-After: -1\r\n", None),
        ("", None),
    ] {
        let answer = format!("HTTP/1.1 429 Too Many Requests\r\n{headers}Content-Length: 0\r\n\r\n");
        let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
        let retry_after = wait.map(Duration::from_secs);
        assert_eq!(
            called.answer,
            UpstreamAnswer::Status { status: 429, retry_after, exhausted_for: None, no_retry: false },
            "{headers}"
        );
        assert_eq!(called.class, "429");
    }
}

#[tokio::test]
async fn an_upstream_can_ask_for_no_retry() {
    let answer = "HTTP/1.1 500 Oops\r\nDripfeed-No-Retry: 1\r\nContent-Length: 0\r\n\r\n";
    let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
    assert_eq!(
        called.answer,
        UpstreamAnswer::Status { status: 500, retry_after: None, exhausted_for: None, no_retry: true }
    );
}
