use http::HeaderValue;
use serde_json::{Map, Value, json};

use crate::harness::{Harness, ask, delivered, intake_settings, request};
use crate::server::{Server, last, refused};

/// The option by its member in a batch, and an invalid value.
fn unusable() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let mut add = |member, values: &[&str]| all.extend(values.iter().map(|value| (member, (*value).to_owned())));
    add("delay", &["-1s", "10", "10y", "3650d", "NaN", "inf", "1e9s", "10s; 20s", "99999999999999999999s"]);
    add("not_before", &["tomorrow", "2030-01-01", "1700000000", "9999-01-01T00:00:00Z", "2030-13-01T00:00:00Z"]);
    add("expires_in", &["-1s", "0s", "60", "3650d", "NaN"]);
    add("timeout", &["0s", "-1s", "2h", "30"]);
    add("method", &["BREW", "post", "CONNECT", "TRACE", "GET POST"]);
    add(
        "path",
        &[
            "..",
            "/../x",
            "/a/../../x",
            "/%2e%2e/x",
            "/..;/x",
            "/%2e%2e;/x",
            "/%252e./x",
            "/%2E./x",
            "/./x",
            "//host/x",
            "/a//b",
            "http://host/x",
        ],
    );
    add(
        "path",
        &["\\\\host\\x", "/\\host", "/%5chost", "@host", "/x@host", "/%2f%2fhost", "/a b", "/%", "/%zz", "/%00"],
    );
    add("path", &["/x#y", "/%0d%0aHost: x"]);
    all.push(("path", format!("/{}", "x".repeat(9000))));
    all
}

/// Headers that must not be forwarded.
const REFUSED_HEADERS: [&str; 17] = [
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Upgrade",
    "Proxy-Connection",
    "Proxy-Authorization",
    "Proxy-Authenticate",
    "Proxy-Anything",
    "Expect",
    "Dripfeed-Job-Id",
    "X-Forwarded-For",
    "Forwarded",
    "X-Real-IP",
];

fn header_of(member: &str) -> String {
    format!("Dripfeed-{}", member.replace('_', "-"))
}

/// Submits one item with these options.
async fn batch(harness: &Harness, options: Value) -> Value {
    let item = json!([{"body": 1, "options": options}]).to_string();
    harness.ask("POST /v1/buckets/b/jobs/batch", &[("content-type", "application/json")], item).await.json()["items"][0]
        .clone()
}

#[tokio::test]
async fn invalid_options_are_refused_in_every_form() {
    let harness = Harness::start().await;
    for (member, value) in unusable() {
        let header = header_of(member);
        let lines: &[&str] = match member {
            "method" | "path" => &["POST /v1/buckets/b/jobs"],
            _ => &["POST /v1/buckets/b/jobs", "POST /v1/buckets/b/proxy/x"],
        };
        for line in lines {
            let problem = harness.ask(line, &[(&header, &value)], "x").await.refuses(422, "bad_option");
            assert_eq!(problem["options"][0]["name"], header.to_lowercase(), "{value}");
        }
        let item = batch(&harness, Value::Object(Map::from_iter([(member.to_owned(), value.clone().into())]))).await;
        assert_eq!(
            (&item["status"], &item["problem"]["code"]),
            (&422.into(), &"bad_option".into()),
            "{member} {value}"
        );
        assert_eq!(item["problem"]["options"][0]["name"], member, "{value}");
    }
    for retries in [json!(-1), json!(101), json!(1_000_000_000), json!(1.5), json!("1"), json!(null)] {
        assert_eq!(batch(&harness, json!({"retries": retries})).await["status"], 422, "{retries}");
        let refused = harness.ask("POST /v1/buckets/b/jobs", &[("dripfeed-retries", &retries.to_string())], "x").await;
        refused.refuses(422, "bad_option");
    }
    harness.ask("POST /v1/buckets/b/jobs", &[("dripfeed-unheard-of", "x")], "x").await.refuses(422, "bad_option");
    let twice = [("dripfeed-delay", "1s"), ("dripfeed-delay", "1s")];
    harness.ask("POST /v1/buckets/b/jobs", &twice, "x").await.refuses(422, "bad_option");
    for name in ["content-type", "content-encoding"] {
        let twice = [(name, "application/gzip"), (name, "gzip")];
        harness.ask("POST /v1/buckets/b/jobs", &twice, "x").await.refuses(422, "bad_option");
    }
    let twice = [("content-encoding", "gzip"), ("dripfeed-forward-content-encoding", "gzip")];
    harness.ask("POST /v1/buckets/b/jobs", &twice, "x").await.refuses(422, "bad_option");
    assert_eq!(harness.length("b").await, 0);
}

/// A batch item lost it silently, and the other forms refused it.
#[tokio::test]
async fn a_forwarded_header_keeps_its_utf_8_in_every_form() {
    let harness = Harness::start().await;
    let name = "attachment; filename=\"größe.pdf\"";
    let option = [("dripfeed-forward-content-disposition", name)];
    assert_eq!(harness.ask("POST /v1/buckets/b/jobs", &option, "x").await.status, 202);
    let proxied = harness.ask("POST /v1/buckets/b/proxy/x", &[("content-disposition", name)], "x").await;
    assert_eq!(proxied.status, 202);
    assert_eq!(batch(&harness, json!({"forward": {"Content-Disposition": name}})).await["status"], 202);
    for _ in 0..3 {
        let job = harness.settle(delivered(200, "text/plain", b"")).await;
        assert_eq!(job.headers.to_field(), json!([["content-disposition", name]]).to_string());
    }
    let latin = HeaderValue::from_bytes(b"gr\xf6\xdfe").unwrap();
    for (line, header) in [("POST /v1/buckets/b/jobs", "dripfeed-forward-x"), ("POST /v1/buckets/b/proxy/x", "x")] {
        let mut request = request(line, &[], "x");
        request.headers_mut().insert(header, latin.clone());
        ask(harness.intake.entry_point(), request).await.refuses(422, "bad_option");
    }
}

#[tokio::test]
async fn a_refusal_says_what_is_wrong_with_each_option() {
    let harness = Harness::start().await;
    let options = [("dripfeed-delay", "10"), ("dripfeed-retries", "many")];
    let problem = harness.ask("POST /v1/buckets/b/jobs", &options, "x").await.refuses(422, "bad_option");
    let detail = problem["detail"].as_str().unwrap();
    for part in ["dripfeed-delay: `10` is not a duration", "dripfeed-retries: `many` is not a whole number from 0"] {
        assert!(detail.contains(part), "{detail}");
    }
}

#[tokio::test]
async fn an_option_that_would_be_ignored_is_refused() {
    let harness = Harness::start().await;
    let starts = [("dripfeed-delay", "10s"), ("dripfeed-not-before", "2020-01-01T00:00:00Z")];
    for both in [starts, [starts[1], starts[0]]] {
        harness.ask("POST /v1/buckets/b/jobs", &both, "x").await.refuses(422, "bad_option");
    }
    let both = json!({"delay": "10s", "not_before": "2020-01-01T00:00:00Z"});
    assert_eq!(batch(&harness, both).await["problem"]["code"], "bad_option");
    // Names of headers are the same in any case: a single submission has no way to give one twice either.
    let twice = batch(&harness, json!({"forward": {"X-Tenant": "a", "x-tenant": "b"}})).await;
    assert_eq!(twice["problem"]["options"], json!([{"name": "forward.x-tenant", "reason": "given more than once"}]));
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn connection_headers_are_not_forwarded() {
    let harness = Harness::start().await;
    for name in REFUSED_HEADERS {
        let header = format!("Dripfeed-Forward-{name}");
        harness.ask("POST /v1/buckets/b/jobs", &[(&header, "x")], "x").await.refuses(422, "bad_option");
        let item = batch(&harness, json!({"forward": {name: "x"}})).await;
        assert_eq!(item["problem"]["options"][0]["name"], format!("forward.{name}"), "{item}");
    }
    // Names and values that no header has: only a batch can spell them.
    for (name, value) in [
        ("", "x"),
        ("a b", "x"),
        ("a:b", "x"),
        ("\u{e9}", "x"),
        ("x", "a\r\nb: c"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x", "\u{7f}"),
    ] {
        let item = batch(&harness, json!({"forward": {name: value}})).await;
        assert_eq!(
            (&item["status"], &item["problem"]["code"]),
            (&422.into(), &"bad_option".into()),
            "{name:?} {value:?}"
        );
    }
    let names: Vec<String> = (0..65).map(|n| format!("dripfeed-forward-x-{n}")).collect();
    let headers: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    harness.ask("POST /v1/buckets/b/jobs", &headers, "x").await.refuses(422, "bad_option");
    let many: Map<String, Value> = (0..65).map(|n| (format!("x-{n}"), "v".into())).collect();
    assert_eq!(batch(&harness, json!({"forward": many})).await["status"], 422);
    assert_eq!(batch(&harness, json!({"forward": {"x": "y".repeat(17 * 1024)}})).await["status"], 422);
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn an_invalid_idempotency_key_is_a_bad_request_in_every_form() {
    let harness = Harness::start().await;
    for key in ["", "\"\"", &"x".repeat(256), "a\tb"] {
        for line in ["POST /v1/buckets/b/jobs", "POST /v1/buckets/b/proxy/x"] {
            harness.ask(line, &[("idempotency-key", key)], "x").await.refuses(400, "bad_idempotency_key");
        }
        let item = batch(&harness, json!({"idempotency_key": key})).await;
        assert_eq!(
            (&item["status"], &item["problem"]["code"]),
            (&400.into(), &"bad_idempotency_key".into()),
            "{key:?}"
        );
    }
    for key in ["a\0b", "a\r\nb", "\u{85}"] {
        assert_eq!(batch(&harness, json!({"idempotency_key": key})).await["status"], 400, "{key:?}");
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    harness.ask("POST /v1/buckets/b/jobs", &twice, "x").await.refuses(400, "bad_idempotency_key");
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn a_proxied_path_reaches_no_other_host() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    for rest in [
        "/..",
        "/../x",
        "/a/../../x",
        "/%2e%2e/x",
        "/%2E%2E%2fx",
        "//host/x",
        "/%2f/host",
        "/\\host",
        "/%5c%5chost",
        "/x@host",
        "/@host/",
        "/x%00",
        "/%",
    ] {
        let answer = server.ask(last(&format!("GET /v1/buckets/b/proxy{rest}"), "", "")).await;
        refused(&answer, 422, "bad_option");
    }
    // A target with a host in it is ours all the same: its host is nothing that a job has.
    refused(&server.ask(last("GET http://elsewhere/v1/buckets/b/proxy/x", "", "")).await, 421, "unknown_host");
    let answer = server.ask(last("GET http://intake/v1/buckets/b/proxy/x", "", "")).await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    let job = harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!((job.path.unwrap().as_str(), job.headers.is_empty()), ("/x", true));
    for line in ["CONNECT elsewhere:443", "OPTIONS *", "GET elsewhere"] {
        let answer = server.ask(last(line, "", "")).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{line}: {answer}");
    }
    assert_eq!(harness.length("b").await, 0);
}
