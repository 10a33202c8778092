use std::time::Duration;

use dripfeed_intake::IntakeSettings;
use tokio::io::AsyncWriteExt as _;

use crate::harness::{Harness, buried, intake_settings};
use crate::server::{Server, head, refused};

/// The request smuggled behind another one.
fn hidden() -> String {
    format!("{}z", head("Content-Length: 1\r\nConnection: close\r\n"))
}

/// Sends each request on a separate connection with another one behind it. Only a refusal may come back.
async fn are_refused(requests: impl IntoIterator<Item = String>) {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    for request in requests {
        let mut connection = server.connect().await;
        connection.send(request.clone() + &hidden()).await;
        let answers = connection.rest().await;
        assert!(answers.starts_with("HTTP/1.1 400 "), "{request:?}: {answers}");
        assert_eq!(answers.matches("HTTP/1.1").count(), 1, "{request:?}: {answers}");
    }
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn an_ambiguous_head_ends_its_connection() {
    are_refused(
        [
            "\0",
            "\nPOST /v1/buckets/b/jobs HTTP/1.1\r\nHost: intake\r\n\r\n",
            "POST /v1/buckets/b/jobs\r\n\r\n",
            "POST /v1/buckets/b/jobs HTTP/1.1\r\n\r\n",
            "POST /v1/buckets/b/jobs HTTP/1.1\nHost: intake\r\n\r\n",
            "POST /v1/buckets/b/jobs HTTP/1.2\r\nHost: intake\r\n\r\n",
            "POST  /v1/buckets/b/jobs HTTP/1.1\r\nHost: intake\r\n\r\n",
            "POST\t/v1/buckets/b/jobs\tHTTP/1.1\r\nHost: intake\r\n\r\n",
            "POST /v1/buckets/b/jobs HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ]
        .map(str::to_owned),
    )
    .await;
    let fields = [
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "Content-Length: 1, 1\r\n\r\nx",
        "Content-Length: +1\r\n\r\nx",
        "Content-Length: -1\r\n\r\nx",
        "Content-Length: 18446744073709551617\r\n\r\nx",
        "Content-Length:\r\n\r\nx",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: gzip\r\n\r\nx",
        "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\n\r\n",
        "Content-Length: 0\r\n\n",
        "X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "X: a\r\r\n\r\n",
        "X: a\0b\r\n\r\n",
        "X\0: a\r\n\r\n",
        "X: a\r\n folded\r\n\r\n",
        "X: a\r\n\tfolded\r\n\r\n",
        "X : a\r\n\r\n",
        ": a\r\n\r\n",
        "Host: elsewhere\r\n\r\n",
    ];
    are_refused(fields.map(|fields| head("").trim_end().to_owned() + "\r\n" + fields)).await;
}

#[tokio::test]
async fn ambiguous_chunks_end_their_connection() {
    let chunks = [
        "\r\n",
        "nope\r\nx\r\n0\r\n\r\n",
        "-1\r\nx\r\n0\r\n\r\n",
        "+1\r\nx\r\n0\r\n\r\n",
        "0x1\r\nx\r\n0\r\n\r\n",
        " 1\r\nx\r\n0\r\n\r\n",
        "1 \r\nx\r\n0\r\n\r\n",
        "10000000000000000\r\nx\r\n0\r\n\r\n",
        "1\nx\r\n0\r\n\r\n",
        "1;a\nx\r\n0\r\n\r\n",
        "1;\0\r\nx\r\n0\r\n\r\n",
        "1;a\rb\r\nx\r\n0\r\n\r\n",
        "1\r\nxyz\r\n0\r\n\r\n",
        "1\r\nx\n0\r\n\r\n",
        "1\r\nx0\r\n\r\n",
        "0\n\n",
        "0\r\n\n",
        "0\r\nX: a\n\r\n",
        "0\r\nX: a\r\n\n",
        "0\r\nX: a\0\r\n\r\n",
        "0\r\nX : a\r\n\r\n",
    ];
    are_refused(chunks.map(|chunks| head("Transfer-Encoding: chunked\r\n") + chunks)).await;
}

#[tokio::test]
async fn pipelined_requests_are_served_up_to_an_invalid_one() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    let sound = [
        head("Content-Length: 1\r\n") + "x",
        head("Transfer-Encoding: chunked\r\n") + "1;a=b\r\ny\r\n0\r\nX-Trailer: t\r\n\r\n",
        "\r\n".to_owned() + &head(""),
    ]
    .concat();
    let all = format!("{sound}{}{}", head("Content-Length: 1\r\nContent-Length: 1\r\n"), hidden());
    // At once, and a byte at a time.
    for at_once in [all.len(), 1] {
        let mut connection = server.connect().await;
        for bytes in all.as_bytes().chunks(at_once) {
            if connection.tcp.write_all(bytes).await.is_err() {
                break;
            }
        }
        let answers = connection.rest().await;
        let statuses: Vec<&str> = answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
        assert_eq!(statuses, ["202", "202", "202", "400"], "{answers}");
    }
    assert_eq!(harness.length("b").await, 6);
}

#[tokio::test]
async fn bytes_after_an_unread_body_are_no_request() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    for line in ["GET /livez", "POST /v1/buckets/nope/jobs", "GET /v1/buckets/b", "GET /nothing", "PUT /livez"] {
        for body in [
            format!("Transfer-Encoding: chunked\r\n\r\nnope\r\n{}", hidden()),
            format!("Transfer-Encoding: chunked\r\n\r\nffff\r\n{}", hidden()),
            format!("Content-Length: 1000\r\n\r\n{}", hidden()),
            format!("Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n{}", hidden()),
        ] {
            let mut connection = server.connect().await;
            connection.send(format!("{line} HTTP/1.1\r\nHost: intake\r\n{body}")).await;
            let answers = connection.rest().await;
            assert_eq!(answers.matches("HTTP/1.1").count(), 1, "{line} {body:?}: {answers}");
        }
    }
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn an_operation_without_a_body_has_no_effect_when_its_body_is_invalid() {
    let harness = Harness::start().await;
    let dead = harness.submit("x").await;
    harness.settle(buried("no luck", 404)).await;
    let waiting = harness.submit("x").await;
    let server = Server::start(&harness, intake_settings()).await;
    let short = IntakeSettings { body_timeout: Duration::from_millis(200), ..intake_settings() };
    let hurried = Server::start(&harness, short).await;
    assert_eq!(harness.ask("PUT /v1/services/s/rules", &[], r#"{"policies": []}"#).await.status, 200);
    for line in [
        "DELETE /v1/services/s/rules".to_owned(),
        "POST /v1/buckets/b/pause".to_owned(),
        "POST /v1/buckets/b/resume".to_owned(),
        "POST /v1/buckets/b/purge".to_owned(),
        format!("POST /v1/buckets/b/dead/{dead}/replay"),
        format!("DELETE /v1/buckets/b/dead/{dead}"),
        format!("DELETE /v1/buckets/b/jobs/{waiting}"),
    ] {
        for (body, status, code) in [
            ("Transfer-Encoding: chunked\r\n\r\nnope\r\n".to_owned(), 400, "bad_body"),
            ("Transfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n".to_owned(), 400, "bad_body"),
            (format!("Content-Length: 70000\r\n\r\n{}", "x".repeat(70_000)), 413, "body_too_large"),
        ] {
            refused(&server.ask(format!("{line} HTTP/1.1\r\nHost: intake\r\n{body}")).await, status, code);
        }
        if line.starts_with("POST") {
            let filter =
                format!("{line} HTTP/1.1\r\nHost: intake\r\nContent-Length: 18\r\n\r\n{{\"state\":\"parked\"}}");
            refused(&server.ask(filter).await, 400, "bad_body");
        }
        let cut = format!("{line} HTTP/1.1\r\nHost: intake\r\nContent-Length: 2\r\n\r\nx");
        refused(&hurried.ask(cut).await, 408, "body_timeout");
    }
    assert_eq!(harness.get("/v1/services/s/rules").await.status, 200);
    let bucket = harness.get("/v1/buckets/b").await.json();
    assert_eq!((&bucket["paused"], &bucket["waiting"], &bucket["dead"]), (&false.into(), &1.into(), &1.into()));
    for nothing in ["", "{}", "null", " {}\n"] {
        let length = nothing.len();
        let head = "POST /v1/buckets/b/pause HTTP/1.1\r\nHost: intake\r\nConnection: close";
        let whole = format!("{head}\r\nContent-Length: {length}\r\n\r\n{nothing}");
        assert!(server.ask(whole).await.starts_with("HTTP/1.1 200 "), "{nothing:?}");
    }
}
