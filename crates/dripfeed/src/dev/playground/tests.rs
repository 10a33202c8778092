#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;

use super::*;

async fn asked(headers: &[(&'static str, &'static str)], body: &'static str) -> Response {
    let playground = Playground { keys: Arc::new(ApiKeys::new(Vec::new())), modes: EchoModes::default() };
    let mut fields: HeaderMap =
        headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
    fields.insert("host", HeaderValue::from_static("127.0.0.1:7180"));
    let changed = change(State(playground.clone()), fields, Bytes::from_static(body.as_bytes())).await;
    let is_changed = playground.modes.now() == EchoMode::Slow;
    assert_eq!(is_changed, changed.is_ok());
    changed.into_response()
}

async fn problem(answer: Response) -> (StatusCode, String) {
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let status = answer.status();
    let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let problem: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["status"], status.as_u16());
    (status, problem["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_mode_is_changed_and_refusals_are_problems() {
    const SLOW: &str = r#"{"mode":"slow"}"#;
    assert_eq!(asked(&[], SLOW).await.status(), 200);
    for (headers, body, status, code) in [
        (["origin", "http://evil.example"], SLOW, 403, "forbidden"),
        (["sec-fetch-site", "cross-site"], SLOW, 403, "forbidden"),
        // Whatever it sends.
        (["origin", "null"], "{", 403, "forbidden"),
        (["accept", "*/*"], r#"{"mode":"fast"}"#, 422, "bad_member"),
        (["accept", "*/*"], "{", 422, "bad_member"),
    ] {
        let refused = problem(asked(&[(headers[0], headers[1])], body).await).await;
        assert_eq!(refused, (StatusCode::from_u16(status).unwrap(), code.to_owned()), "{headers:?} {body}");
    }
}

#[test]
fn the_routes_are_described() {
    let described = serde_json::to_value(description()).unwrap();
    let path = &described["paths"]["/v1/dev/upstream"];
    assert!(path["get"]["description"].as_str().unwrap().contains("`read`"), "{path}");
    assert!(path["put"]["description"].as_str().unwrap().contains("`operate`"), "{path}");
    assert_eq!(described["components"]["schemas"]["EchoMode"]["enum"][1], "slow", "{described}");
}
